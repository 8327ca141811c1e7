#!/usr/bin/env python3
"""A push gateway, or a feedback service, that does as it is told: a peer that misbehaves on purpose, for tests.

    gateway.py --certificate PEM --key PEM --ca PEM --record DIR [script]

Prints "listening PORT" once it is ready, listens on 127.0.0.1 only, wants a client certificate, ends at SIGTERM or
after --seconds. Of connection N it records in DIR: N.stream, all bytes as they came; N.accepted, the frames that count
as delivered; N.refused, the frame that an error response named; N.discarded, whatever came after it. DIR/events has a
JSON line for each thing that happened.

Without a script every sound notification is accepted. A token of a wrong size, the barrier, is answered with status
5; a token of 32 zero bytes, or one that --reject names without a status, with 8; other faults by their status.
"""
import argparse
import json
import signal
import socket
import ssl
import struct
import sys
import threading
import time
from pathlib import Path

import decode

SHUTDOWN = 10
CONNECTIONS_MAX = 10_000
DRAIN_SECONDS = 2


class Gateway:
    def __init__(self, given):
        self.given = given
        self.rejected = {}
        for word in given.reject:
            token, _, status = word.partition("=")
            self.rejected[bytes.fromhex(token)] = int(status or 8)
        self.record = Path(given.record)
        self.record.mkdir(parents=True, exist_ok=True)
        self.events = open(self.record / "events", "a", buffering=1)
        self.lock = threading.Lock()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if given.tls:
            version = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[given.tls]
            self.tls.minimum_version = self.tls.maximum_version = version
        if given.ciphers:
            self.tls.set_ciphers(given.ciphers)
        self.tls.load_cert_chain(given.certificate, given.key)
        self.tls.load_verify_locations(given.ca)
        self.tls.verify_mode = ssl.CERT_REQUIRED
        if given.alpn:
            self.tls.set_alpn_protocols([given.alpn])
        self.tuples = b"".join(
            struct.pack(">IH", int(when), len(bytes.fromhex(token))) + bytes.fromhex(token)
            for when, token in (line.split() for line in open(given.feedback) if line.strip())
        ) if given.feedback else b""

    def note(self, number, event, **facts):
        with self.lock:
            self.events.write(json.dumps({"connection": number, "event": event, "at": round(time.monotonic(), 6),
                                          **facts}) + "\n")

    def serve(self, listener):
        for number in range(1, CONNECTIONS_MAX + 1):
            raw, _ = listener.accept()
            threading.Thread(target=self.connection, args=(number, raw), daemon=True).start()

    def connection(self, number, raw):
        given = self.given
        try:
            raw.settimeout(given.seconds)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if given.hang and (not given.first or number <= given.first):
                self.note(number, "hang")
                while raw.recv(65536):
                    pass
                return
            with self.tls.wrap_socket(raw, server_side=True) as stream:
                subject = dict(pair for part in stream.getpeercert()["subject"] for pair in part)
                self.note(number, "open", version=stream.version(), suite=stream.cipher()[0], subject=subject,
                          alpn=stream.selected_alpn_protocol(), resumed=stream.session_reused)
                if given.feedback:
                    self.feed_back(number, stream)
                else:
                    Conversation(self, number, stream).run()
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            self.note(number, "broken", error=str(error))
        finally:
            raw.close()
            self.note(number, "closed")

    def feed_back(self, number, stream):
        with self.lock:
            tuples = self.tuples
            if not self.given.keep:
                self.tuples = b""  # reading clears the list
        if self.given.close_after is not None:  # in the middle of the next one
            tuples = tuples[:self.given.close_after * 38 + 19]
        self.send(stream, tuples)
        self.note(number, "served", bytes=len(tuples))
        if self.given.close_after is None:
            self.part(stream)

    def send(self, stream, data):
        size = self.given.answer_bytes or len(data) or 1
        for at in range(0, len(data), size):
            stream.sendall(data[at:at + size])
            if self.given.answer_bytes:
                time.sleep(self.given.answer_gap)

    def part(self, stream, keep=None):
        """Closes in order: says so, then reads what is under way, lest a reset overtake the answer."""
        end = time.monotonic() + DRAIN_SECONDS
        stream.setblocking(False)
        try:
            stream.unwrap()
            return
        except ssl.SSLWantReadError:
            pass  # our goodbye is sent, the peer's is not here yet
        except OSError:
            return
        try:
            # Of the plain socket: the TLS one would forget its keys.
            socket.socket.shutdown(stream, socket.SHUT_WR)
            while (left := end - time.monotonic()) > 0:
                stream.settimeout(left)
                piece = stream.recv(65536)
                if not piece:
                    return
                if keep:
                    keep(piece)
        except OSError:
            pass


class Conversation:
    """One connection to the gateway, from its first frame to its last."""

    def __init__(self, gateway, number, stream):
        self.gateway, self.given, self.number, self.stream = gateway, gateway.given, number, stream
        self.scripted = not self.given.first or number <= self.given.first
        self.decoder = decode.Decoder()
        self.accepted = 0
        self.files = {}

    def run(self):
        try:
            while piece := self.stream.recv(65536):
                self.keep("stream", piece)
                if self.take(piece):
                    return
            self.decoder.finish()
            self.gateway.note(self.number, "end", accepted=self.accepted)
        except decode.Malformed as error:
            self.gateway.note(self.number, "malformed", offset=error.offset, what=error.what)
        finally:
            for file in self.files.values():
                file.close()

    def keep(self, kind, data):
        if kind not in self.files:
            self.files[kind] = open(self.gateway.record / f"{self.number}.{kind}", "wb", buffering=0)
        self.files[kind].write(data)

    def take(self, piece):
        """Whether the connection is over."""
        notifications = self.decoder.feed(piece)
        for at, notification in enumerate(notifications):
            rest = b"".join(later.raw for later in notifications[at + 1:]) + self.decoder.held
            if status := self.status(notification):
                self.keep("refused", notification.raw)
                self.answer(status, notification, rest)
                return True
            self.keep("accepted", notification.raw)
            self.accepted += 1
            if self.scripted and self.accepted == self.given.shutdown_after:
                self.answer(SHUTDOWN, notification, rest)
                return True
            if self.scripted and self.accepted == self.given.stall_after:
                self.keep("discarded", rest)
                self.gateway.note(self.number, "stall", accepted=self.accepted)
                time.sleep(self.given.seconds)
                return True
            if self.scripted and self.accepted == self.given.close_after:
                self.keep("discarded", rest)
                self.gateway.note(self.number, "cut", accepted=self.accepted)
                if self.given.last_words:
                    self.gateway.send(self.stream, bytes.fromhex(self.given.last_words) * self.given.last_words_times)
                if self.given.reset:
                    self.reset()
                elif not self.given.abrupt:
                    self.gateway.part(self.stream, self.discard)
                return True
        self.decoder.feed(b"")  # a fault behind them shows at once
        return False

    def status(self, notification):
        if notification.token == bytes(32):
            return 8
        if self.scripted and notification.token in self.gateway.rejected:
            return self.gateway.rejected[notification.token]
        wrong = decode.fault(notification, self.given.payload_limit)
        return wrong and wrong[0]

    def answer(self, status, notification, rest):
        """The error response, late if the script says so; the stream is read, and thrown away, all the while."""
        self.keep("discarded", rest)
        if self.given.delay_answer and self.scripted:
            self.read_for(self.given.delay_answer)
        self.gateway.note(self.number, "answer", status=status, identifier=notification.identifier,
                          accepted=self.accepted)
        if notification.command != 0:  # the simple format has no identifier: the close says it all
            identifier = notification.identifier or 0
            if self.given.answer_identifier is not None and self.scripted:
                identifier = self.given.answer_identifier
            self.gateway.send(self.stream, struct.pack(">BBI", 8, status, identifier))
        if self.given.reset and self.scripted:
            self.reset()
        elif not (self.given.abrupt and self.scripted):
            self.gateway.part(self.stream, self.discard)

    def discard(self, piece):
        self.keep("stream", piece)
        self.keep("discarded", piece)

    def read_for(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.stream.settimeout(left)
            try:
                piece = self.stream.recv(65536)
            except TimeoutError:
                break
            if not piece:
                time.sleep(max(0, end - time.monotonic()))
                break
            self.discard(piece)
        self.stream.settimeout(self.given.seconds)

    def reset(self):
        self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("certificate", "key", "ca", "record"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=600, help="ends after so long, whatever happens")
    parser.add_argument("--tls", choices=("1.2", "1.3"), help="this version only")
    parser.add_argument("--ciphers", help="OpenSSL's list, for TLS 1.2")
    parser.add_argument("--alpn", metavar="NAME", help="the protocol it speaks")
    parser.add_argument("--payload-limit", type=int, default=2048, metavar="BYTES")
    script = parser.add_argument_group("script")
    script.add_argument("--first", type=int, default=0, metavar="K", help="only for the first K connections")
    script.add_argument("--reject", action="append", default=[], metavar="TOKENHEX[=STATUS]")
    script.add_argument("--close-after", type=int, metavar="N", help="closes without a word after N accepted; "
                        "for feedback, in the middle of tuple N + 1")
    script.add_argument("--last-words", metavar="HEX", help="sends these bytes before it closes so")
    script.add_argument("--last-words-times", type=int, default=1, metavar="N", help="as often")
    script.add_argument("--shutdown-after", type=int, metavar="N", help="status 10, naming the Nth accepted")
    script.add_argument("--stall-after", type=int, metavar="N", help="after N accepted neither reads, answers nor closes")
    script.add_argument("--delay-answer", type=float, default=0, metavar="SECONDS")
    script.add_argument("--answer-bytes", type=int, default=0, metavar="N", help="answers come N bytes at a time")
    script.add_argument("--answer-gap", type=float, default=0.05, metavar="SECONDS", help="between them")
    script.add_argument("--answer-identifier", type=int, metavar="N", help="instead of the right one")
    script.add_argument("--abrupt", action="store_true", help="closes without goodbye or reading on")
    script.add_argument("--reset", action="store_true", help="closes by a TCP reset")
    script.add_argument("--hang", action="store_true", help="accepts, and never shakes hands")
    feedback = parser.add_argument_group("feedback")
    feedback.add_argument("--feedback", metavar="FILE", help='serves its lines, "TIMESTAMP TOKENHEX", as tuples')
    feedback.add_argument("--keep", action="store_true", help="reading does not clear the list")
    return parser.parse_args()


def main():
    given = arguments()
    gateway = Gateway(given)
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # in every thread, so that none takes the signal from this one
    listener = socket.create_server(("127.0.0.1", given.port), backlog=64)
    print(f"listening {listener.getsockname()[1]}", flush=True)
    threading.Thread(target=gateway.serve, args=(listener,), daemon=True).start()
    if signal.sigtimedwait(ends, given.seconds) is None:
        sys.exit("gateway: time is up")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"gateway: {error}")
