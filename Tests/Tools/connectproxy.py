#!/usr/bin/env python3
"""An HTTP proxy for tests that supports only CONNECT, and connects every host to that port of this
machine.

    connectproxy.py --record DIR [--login USER:PASSWORD] [--answer TEXT [--piece BYTES] | --endless | --silent | --close]

Prints "listening PORT" once it is ready. Listens only on 127.0.0.1; ends at SIGTERM. DIR/events has
a JSON line for each request. --login requires this user and password, by the scheme Basic. --answer
sends other bytes as the answer, with escapes such as \\r and \\n, in pieces of --piece bytes; it
connects if they begin with a status 2xx. --endless sends headers without an end, --silent sends
nothing, and --close closes the connection.
"""
import argparse
import base64
import codecs
import json
import re
import signal
import socket
import sys
import threading
from pathlib import Path

HEAD_MAX = 8192


def pump(source, target):
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for end in source, target:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Proxy:
    def __init__(self, given):
        self.given = given
        record = Path(given.record)
        record.mkdir(parents=True, exist_ok=True)
        self.events = open(record / "events", "a", buffering=1)
        self.listener = socket.create_server(("127.0.0.1", 0))

    def run(self):
        print(f"listening {self.listener.getsockname()[1]}", flush=True)
        while True:
            near, _ = self.listener.accept()
            threading.Thread(target=self.connection, args=(near,), daemon=True).start()

    def connection(self, near):
        with near:
            try:
                self.attend(near)
            except ConnectionError:  # the client is gone
                pass

    def attend(self, near):
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = near.recv(1)
            if not byte or len(head) == HEAD_MAX:
                return
            head += byte
        request, *lines = head.decode("latin-1").split("\r\n")[:-2]
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        self.events.write(json.dumps({"event": "request", "request": request, "headers": headers}) + "\n")
        self.answer(near, request, headers)

    def answer(self, near, request, headers):
        given = self.given
        if given.silent:
            near.recv(1)
            return
        if given.close:
            return
        if given.endless:
            near.sendall(b"HTTP/1.1 200 OK\r\nX: " + bytes(65536))
            near.recv(1)
            return
        if given.answer is not None:
            data = codecs.escape_decode(given.answer.encode())[0]
        else:
            data = self.verdict(request, headers)
        far = None
        if re.match(rb"HTTP/1\.\d 2", data) or b"\nHTTP/1.1 2" in data:
            far = socket.create_connection(("127.0.0.1", int(request.split()[1].rpartition(":")[2])))
        for at in range(0, len(data), given.piece):
            near.sendall(data[at:at + given.piece])
        if far is None:
            near.shutdown(socket.SHUT_WR)
            while near.recv(4096):
                pass
            return
        with far:
            far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=pump, args=(far, near), daemon=True)
            back.start()
            pump(near, far)
            back.join()

    def verdict(self, request, headers):
        found = re.fullmatch(r"CONNECT (\[[0-9a-f:]+\]|[^:\[\]]+):\d+ HTTP/1\.1", request)
        if not found or headers.get("host") != request.split()[1]:
            return b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
        if self.given.login:
            wanted = "Basic " + base64.b64encode(self.given.login.encode()).decode()
            if headers.get("proxy-authorization") != wanted:
                return b"HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\nno"
        return b"HTTP/1.1 200 Connection established\r\nVia: 1.1 connectproxy\r\n\r\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", required=True, metavar="DIR")
    parser.add_argument("--login", metavar="USER:PASSWORD")
    parser.add_argument("--answer", metavar="TEXT")
    parser.add_argument("--piece", type=int, default=1 << 20, metavar="BYTES")
    parser.add_argument("--endless", action="store_true")
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--close", action="store_true")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    Proxy(given).run()


if __name__ == "__main__":
    main()
