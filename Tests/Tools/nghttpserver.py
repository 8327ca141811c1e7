#!/usr/bin/env python3
"""An independent server: Debian's nghttpd, which answers every POST with 200 and with the posted
bytes.

    nghttpserver.py --certificate PEM --key PEM --record DIR [--optional] [--streams N]

Prints "listening PORT" once it is ready. Listens only on 127.0.0.1; ends at SIGTERM, or when its
standard input is a pipe that closes. It requires a client certificate from any issuer; with
--optional it requires none. DIR/frames is nghttpd's log of frames. At the end,
DIR/requests has a JSON line for each request, as http2gateway.py writes them but without the
payload, and DIR/events has one for each connection.
"""
import argparse
import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import peer
import port

RECEIVED = re.compile(r"\[id=(\d+)\] \[ *([0-9.]+)\] recv \(stream_id=(\d+)(, sensitive)?\) (:?[^:]+): (.*)")
ANSWERED = re.compile(r"\[id=(\d+)\] \[ *[0-9.]+\] send HEADERS frame <.*stream_id=(\d+)>")
STATUS = re.compile(r" +:status: (\d+)")


def wait_for(place, process):
    while not place.is_open():
        if process.poll() is not None:
            raise OSError("nghttpd did not start")
        time.sleep(0.01)


def write_requests(record):
    """Writes DIR/requests and DIR/events from DIR/frames, in the form of the other gateways."""
    requests, answered = {}, None
    for line in open(record / "frames", errors="replace"):
        if found := RECEIVED.match(line):
            connection, at, stream, is_never, name, value = found.groups()
            request = requests.setdefault((int(connection), int(stream)),
                                          {"headers": {}, "never": [], "answer": None, "at": float(at)})
            request["headers"][name] = value
            if is_never:
                request["never"].append(name)
        elif found := ANSWERED.match(line):
            answered = int(found[1]), int(found[2])
        elif (found := STATUS.match(line)) and answered in requests:
            requests[answered]["answer"] = int(found[1])
    numbers = {one: at + 1 for at, one in enumerate(dict.fromkeys(connection for connection, _ in requests))}
    with open(record / "requests", "w") as file:
        for number, ((connection, stream), request) in enumerate(requests.items(), 1):
            file.write(json.dumps({
                "number": number, "connection": numbers[connection], "stream": stream,
                "token": request["headers"].get(":path", "").rpartition("/")[2], **request,
                "accepted": request["answer"] == 200, "reason": None, "fault": None}) + "\n")
    with open(record / "events", "w") as file:
        for number in numbers.values():
            file.write(json.dumps({"connection": number, "event": "open"}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("certificate", "key", "record"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--optional", action="store_true")
    parser.add_argument("--streams", type=int, default=500)
    given = parser.parse_args()
    record, place = Path(given.record), port.Port()
    record.mkdir(parents=True, exist_ok=True)
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    words = ["--address=127.0.0.1", "--echo-upload", "--verbose"]
    if not given.optional:
        words.append("--verify-client")
    with open(record / "frames", "w") as frames:
        process = subprocess.Popen(
            ["nghttpd", *words, f"--max-concurrent-streams={given.streams}", str(place.number), given.key,
             given.certificate],
            stdin=subprocess.DEVNULL, stdout=frames, stderr=frames,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, ends))
    try:
        wait_for(place, process)
        print(f"listening {place.number}", flush=True)
        threading.Thread(target=peer.end_with_stdin, daemon=True).start()
        signal.sigwait(ends)
    finally:
        process.terminate()
        process.wait()
        write_requests(record)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"nghttpserver: {error}")
