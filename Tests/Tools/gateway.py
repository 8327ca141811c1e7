#!/usr/bin/env python3
"""A push gateway for tests that misbehaves as it is told.

    gateway.py --certificate PEM --key PEM --ca PEM --record DIR [script]

Prints "listening PORT" once it is ready. Listens only on 127.0.0.1, requires a client certificate,
and ends at SIGTERM. DIR gets these files for connection N: N.stream, all
received bytes; N.accepted, the frames that count as delivered; N.refused, the frame that an error
response named; N.discarded, everything after it. DIR/events has a JSON line for each event.

Without a script, every valid notification is accepted. A token of a wrong size, which is a barrier,
is answered with status 5. A token of 32 zero bytes, or one that --reject names without a status, is
answered with 8; other faults with their status. The answer names the notification only if its
identifier comes before its token: some gateways read no further.
"""
import struct
import time

import decode
import peer

SHUTDOWN = 10
ANSWER_GAP_SECONDS = 0.05  # between the bytes of an answer


class Gateway(peer.Peer):
    def __init__(self, given):
        super().__init__(given)
        self.rejected = {}
        for word in given.reject:
            token, _, status = word.partition("=")
            self.rejected[bytes.fromhex(token)] = int(status or 8)

    def attend(self, number, stream):
        Conversation(self, number, stream).run()

    def send(self, stream, data):
        size = self.given.answer_bytes or len(data) or 1
        for at in range(0, len(data), size):
            stream.sendall(data[at:at + size])
            if self.given.answer_bytes:
                time.sleep(ANSWER_GAP_SECONDS)


class Conversation:
    """One connection to the gateway."""

    def __init__(self, gateway, number, stream):
        self.gateway, self.given, self.number, self.stream = gateway, gateway.given, number, stream
        self.scripted = gateway.is_scripted(number)
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
        """Handles bytes. Returns whether the connection is over."""
        notifications = self.decoder.feed(piece)
        for at, notification in enumerate(notifications):
            rest = b"".join(later.raw for later in notifications[at + 1:]) + self.decoder.held
            status = self.status(notification)
            if status is not None and self.given.mute and self.scripted:
                self.keep("discarded", notification.raw)
                continue
            if status is not None:
                self.keep("refused", notification.raw)
                self.answer(status, notification, rest)
                return True
            self.keep("accepted", notification.raw)
            self.accepted += 1
            if self.given.no_error and self.scripted:
                self.gateway.send(self.stream, struct.pack(">BBI", 8, 0, notification.identifier_before_token or 0))
            if self.scripted and self.accepted == self.given.shutdown_after:
                self.answer(SHUTDOWN, notification, rest)
                return True
            if self.scripted and self.accepted == self.given.stall_after:
                self.keep("discarded", rest)
                self.gateway.note(self.number, "stall", accepted=self.accepted)
                self.gateway.stall()
            if self.scripted and self.accepted == self.given.close_after:
                self.keep("discarded", rest)
                self.gateway.note(self.number, "cut", accepted=self.accepted)
                if self.given.last_words:
                    self.gateway.send(self.stream, bytes.fromhex(self.given.last_words) * self.given.last_words_times)
                if self.given.reset:
                    self.gateway.reset(self.stream)
                elif not self.given.abrupt:
                    self.gateway.part(self.stream, self.discard)
                return True
        self.decoder.feed(b"")  # reports a fault after them at once
        return False

    def status(self, notification):
        if notification.token == bytes(32):
            return 8
        if self.scripted and notification.token in self.gateway.rejected:
            return self.gateway.rejected[notification.token]
        wrong = decode.fault(notification, self.given.payload_limit)
        return wrong and wrong[0]

    def answer(self, status, notification, rest):
        """Sends the error response, late if the script says so; meanwhile the stream is read and
        discarded."""
        self.keep("discarded", rest)
        if self.given.delay_answer and self.scripted:
            self.read_for(self.given.delay_answer)
        self.gateway.note(self.number, "answer", status=status, identifier=notification.identifier,
                          accepted=self.accepted)
        # The simple format has no identifier, so closing is the answer.
        if notification.command != 0 and not (self.given.wordless and self.scripted):
            identifier = notification.identifier_before_token or 0
            if self.given.answer_identifier is not None and self.scripted:
                identifier = self.given.answer_identifier
            if self.given.answer_status is not None and self.scripted:
                status = self.given.answer_status
            self.gateway.send(self.stream, struct.pack(">BBI", 8, status, identifier))
        if self.given.reset and self.scripted:
            self.gateway.reset(self.stream)
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
        self.stream.settimeout(None)


def arguments():
    parser = peer.parser(__doc__)
    parser.add_argument("--payload-limit", type=int, default=2048, metavar="BYTES")
    script = parser.add_argument_group("script")
    script.add_argument("--reject", action="append", default=[], metavar="TOKENHEX[=STATUS]")
    script.add_argument("--close-after", type=int, metavar="N", help="closes without a response after N accepted")
    script.add_argument("--no-error", action="store_true", help="answers each accepted notification with status 0, and goes on")
    script.add_argument("--last-words", metavar="HEX", help="sends these bytes before that")
    script.add_argument("--last-words-times", type=int, default=1, metavar="N", help="repeats those bytes N times")
    script.add_argument("--shutdown-after", type=int, metavar="N", help="status 10, naming the Nth accepted")
    script.add_argument("--stall-after", type=int, metavar="N", help="stops reading, answering and closing after N accepted")
    script.add_argument("--delay-answer", type=float, default=0, metavar="SECONDS")
    script.add_argument("--answer-bytes", type=int, default=0, metavar="N", help="sends answers N bytes at a time")
    script.add_argument("--answer-identifier", type=int, metavar="N", help="a wrong identifier in the answer")
    script.add_argument("--answer-status", type=int, metavar="N", help="a wrong status in the answer")
    script.add_argument("--wordless", action="store_true", help="closes without an answer")
    script.add_argument("--mute", action="store_true", help="ignores what it should refuse")
    script.add_argument("--abrupt", action="store_true", help="closes at once, without close_notify")
    script.add_argument("--reset", action="store_true", help="closes by a TCP reset")
    return parser.parse_args()


if __name__ == "__main__":
    peer.run(lambda: Gateway(arguments()), "gateway")
