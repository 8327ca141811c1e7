#!/usr/bin/env python3
"""A server that attacks each client that connects, with raw frames that no sane HTTP/2 server
sends.

    hostile.py --certificate PEM --key PEM --ca PEM --record DIR --attack NAME [option...]

Prints "listening PORT" once it is ready. Listens only on 127.0.0.1; ends at SIGTERM, when its
standard input is a pipe that closes. It attacks a connection until the client
closes it or --megabytes are sent; then it only reads. DIR/events has a JSON line for each event:
open; attack; goaway, with the client's reason; end, with bytes sent and received, received frames
by type, requests, whether the client closed, and seconds.
"""
import collections
import random
import select
import ssl
import struct
import time

import peer

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM = ACK = 1
END_HEADERS = 4
TYPES = ("DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE",
         "CONTINUATION")
MAX_STREAMS, WINDOW_SIZE = 3, 4
OK, NOT_FOUND = b"\x88", b"\x8d"  # :status 200 and 404, by the static table
REFUSED = 7
LARGEST = (1 << 31) - 1

REQUEST = object()  # an attack yields this to get the next request's stream


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    length = len(payload) if length is None else length
    return struct.pack(">BHBBI", length >> 16, length & 0xFFFF, kind, flags, stream) + payload


def settings(*pairs):
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", *pair) for pair in pairs))


def integer(value, prefix, first=0):
    most = (1 << prefix) - 1
    if value < most:
        return bytes([first | value])
    out, value = bytearray([first | most]), value - most
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def header(name, value, first=0):
    """Returns a literal header; `first` 0x40: with indexing."""
    return bytes([first]) + integer(len(name), 7) + name + integer(len(value), 7) + value


# A header table of a size that every client allows. A client that allows less than usual requires
# this before the first header.
TABLE = integer(512, 5, 0x20)


def headers(stream, block, flags=END_HEADERS):
    """Returns the frames of a header block."""
    block = TABLE + block
    pieces = [block[at:at + 16384] for at in range(0, len(block), 16384)] or [b""]
    out = b""
    for at, piece in enumerate(pieces):
        last = flags & END_HEADERS if at == len(pieces) - 1 else 0
        out += frame(CONTINUATION, last, stream, piece) if at else frame(HEADERS, flags & ~END_HEADERS | last, stream, piece)
    return out


def forever(piece):
    piece *= max(1, 16384 // len(piece))
    while True:
        yield piece


def begun(then):
    """Returns an attack that sends settings and then these bytes."""
    def attack():
        yield settings((MAX_STREAMS, 100))
        yield then
    return attack


def flood(piece):
    def attack():
        yield settings((MAX_STREAMS, 100))
        yield from forever(piece)
    return attack


def answered(*pieces, endless=None):
    """Returns an attack that answers each request with `pieces`. `endless` follows the first answer
    for ever."""
    def attack():
        yield settings((MAX_STREAMS, 100))
        while True:
            stream = yield REQUEST
            for piece in pieces:
                yield piece(stream)
            if endless:
                yield from forever(endless(stream))
    return attack


def hpack_bomb():
    """Puts a header of 4,000 bytes into the table, then names it 16,000 times per block, one byte
    each."""
    yield settings((MAX_STREAMS, 100))
    stream = yield REQUEST
    block = OK + header(b"x", b"a" * 4000, first=0x40)
    yield headers(stream, block + b"\xbe" * 16000)
    for _ in range(200):
        yield headers(stream, b"\xbe" * 16000)


def continuation_flood():
    yield settings((MAX_STREAMS, 100))
    stream = yield REQUEST
    yield frame(HEADERS, 0, stream, TABLE + OK)
    yield from forever(frame(CONTINUATION, 0, stream, header(b"x-filler", b"a" * 100) * 100))


def whole(block):
    return lambda stream: headers(stream, block, END_HEADERS | END_STREAM)


def part(block):
    return lambda stream: headers(stream, block)


ATTACKS = {
    # floods
    "settings-flood": ("SETTINGS, each of which wants an acknowledgement", flood(settings())),
    "ping-flood": ("PING, each of which wants an acknowledgement", flood(frame(PING, payload=b"12345678"))),
    "ping-ack-flood": ("acknowledgements of PING that nobody sent", flood(frame(PING, ACK, payload=b"12345678"))),
    "window-update-flood": ("WINDOW_UPDATE by 1", flood(frame(WINDOW, payload=struct.pack(">I", 1)))),
    "unknown-flood": ("frames of a type that does not exist", flood(frame(0xFA, payload=b"?" * 16))),
    "goaway-flood": ("GOAWAY without an error, for ever", flood(frame(GOAWAY, payload=struct.pack(">II", 0, 0)))),
    "reset-flood": ("RST_STREAM of a stream, for ever",
                    answered(endless=lambda stream: frame(RST, 0, stream, struct.pack(">I", 8)))),
    "refuse-all": ("RST_STREAM with REFUSED_STREAM for each request, for ever",
                   answered(lambda stream: frame(RST, 0, stream, struct.pack(">I", REFUSED)))),
    "empty-data-flood": ("empty DATA frames in an answer",
                         answered(part(NOT_FOUND), endless=lambda stream: frame(DATA, 0, stream))),
    "endless-body": ("DATA in an answer without end",
                     answered(part(NOT_FOUND), endless=lambda stream: frame(DATA, 0, stream, b"a" * 16384))),
    "endless-hints": ("103 before an answer, for ever", answered(endless=part(header(b":status", b"103")))),
    # headers
    "continuation-flood": ("CONTINUATION without an end of the headers", continuation_flood),
    "hpack-bomb": ("a header of 4,000 bytes, named 16,000 times", hpack_bomb),
    "huge-header": ("a header value of 100 KB", answered(whole(OK + header(b"x-huge", b"a" * 100_000)))),
    "no-status": ("an answer without :status", answered(whole(header(b"x", b"a")))),
    "two-statuses": ("an answer with two of them", answered(whole(OK + OK))),
    "request-header": ("an answer with :path", answered(whole(OK + header(b":path", b"/")))),
    "upper-case": ("a header name in upper case", answered(whole(OK + header(b"X-Upper", b"a")))),
    "connection-header": ("connection: close", answered(whole(OK + header(b"connection", b"close")))),
    # frames out of place
    "push-promise": ("PUSH_PROMISE, though the client wants none",
                     answered(lambda stream: frame(PUSH, END_HEADERS, stream, struct.pack(">I", 2) + TABLE + OK))),
    "headers-on-zero": ("HEADERS on stream 0", begun(frame(HEADERS, END_HEADERS, 0, OK))),
    "data-on-idle": ("DATA on a stream that the client did not open", begun(frame(DATA, 0, 1001, b"?"))),
    "oversized-frame": ("a frame that says it is of 16 MB",
                        answered(lambda stream: frame(HEADERS, END_HEADERS, stream, TABLE + OK, length=(1 << 24) - 1),
                                 endless=lambda stream: b"a" * 16384)),
    # windows and settings
    "window-overflow": ("WINDOW_UPDATE of the connection beyond the largest window",
                        begun(frame(WINDOW, payload=struct.pack(">I", LARGEST)) * 2)),
    "stream-window-overflow": ("WINDOW_UPDATE of a stream beyond the largest window",
                               answered(lambda stream: frame(WINDOW, 0, stream, struct.pack(">I", LARGEST)) * 2)),
    "settings-window": ("INITIAL_WINDOW_SIZE beyond the largest window",
                        lambda: iter([settings((WINDOW_SIZE, 1 << 31))])),
    # no HTTP/2, or half of it
    "garbage": ("random bytes instead of SETTINGS", lambda: forever(random.Random(1).randbytes(16384))),
    "half-frame": ("half of a frame, and then nothing",
                   answered(lambda stream: frame(HEADERS, END_HEADERS, stream, TABLE + OK, length=100))),
}


class Hostile(peer.Peer):
    def attend(self, number, stream):
        Conversation(self, number, stream).run()


class Conversation:
    """One attacked connection."""

    def __init__(self, hostile, number, stream):
        self.hostile, self.given, self.number, self.stream = hostile, hostile.given, number, stream
        self.held = b""
        self.has_preface = False
        self.requests = collections.deque()  # streams
        self.request_count = self.sent = self.heard = 0
        self.frames = collections.Counter()
        self.unsent = b""
        self.is_closed = False

    def run(self):
        begin = time.monotonic()
        self.stream.setblocking(False)
        attack = ATTACKS[self.given.attack][1]()
        self.hostile.note(self.number, "attack", name=self.given.attack)
        how = "left"
        try:
            wanted = next(attack, None)
            while wanted is not None and not self.is_closed and self.sent < self.given.megabytes << 20:
                if wanted is REQUEST:
                    self.pump(until=lambda: self.requests)
                    if not self.requests:
                        break
                    try:
                        wanted = attack.send(self.requests.popleft())
                    except StopIteration:
                        break
                else:
                    self.unsent += wanted
                    self.pump(until=lambda: not self.unsent)
                    wanted = next(attack, None)
            self.pump(until=lambda: False)  # until the connection ends
        except OSError as error:  # includes ssl.SSLError
            how = f"{type(error).__name__}: {error}"
        self.hostile.note(self.number, "end", sent=self.sent, heard=self.heard, frames=dict(self.frames),
                          requests=self.request_count, closed=self.is_closed or how != "left", how=how,
                          took=round(time.monotonic() - begin, 3))

    def pump(self, until):
        """Writes and reads until `until` is true, or the client has closed."""
        while not self.is_closed and not until():
            waits_to_write = False
            if self.unsent:
                try:
                    self.sent += (size := self.stream.send(self.unsent[:16384]))
                    self.unsent = self.unsent[size:]
                except ssl.SSLWantWriteError:
                    waits_to_write = True
                except ssl.SSLWantReadError:
                    pass
            self.read()
            if not self.unsent or waits_to_write:
                if until() or self.is_closed:
                    return
                select.select([self.stream], [self.stream] if waits_to_write else [], [], 1)

    def read(self):
        try:
            while True:
                piece = self.stream.recv(65536)
                if not piece:
                    self.is_closed = True
                    return
                self.heard += len(piece)
                self.take(piece)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass

    def take(self, piece):
        self.held += piece
        if not self.has_preface:
            if len(self.held) < len(PREFACE):
                return
            if not self.held.startswith(PREFACE):
                raise OSError("the client does not send HTTP/2")
            self.has_preface, self.held = True, self.held[len(PREFACE):]
        at = 0
        while len(self.held) - at >= 9:
            high, low, kind, flags, stream = struct.unpack_from(">BHBBI", self.held, at)
            size = high << 16 | low
            if len(self.held) - at < 9 + size:
                break
            payload = self.held[at + 9:at + 9 + size]
            at += 9 + size
            self.frames[TYPES[kind] if kind < len(TYPES) else str(kind)] += 1
            if kind == HEADERS:
                self.requests.append(stream)
                self.request_count += 1
            elif kind == GOAWAY and size >= 8:
                last, code = struct.unpack_from(">II", payload)
                self.hostile.note(self.number, "goaway", code=code, last=last, data=payload[8:].decode("latin-1"))
            elif kind == SETTINGS and not flags & ACK and self.given.attack != "garbage":
                self.unsent += frame(SETTINGS, ACK)
        self.held = self.held[at:]


def arguments():
    parser = peer.parser(__doc__ + "\nattacks:\n" + "\n".join(f"    {name:24}{what}" for name, (what, _) in ATTACKS.items()))
    parser.set_defaults(alpn="h2")
    parser.add_argument("--attack", required=True, choices=ATTACKS, metavar="NAME")
    parser.add_argument("--megabytes", type=int, default=64, metavar="N", help="the most bytes sent on a connection (64)")
    given = parser.parse_args()
    given.optional = True
    return given


if __name__ == "__main__":
    peer.run(lambda: Hostile(arguments()), "hostile", heeds_stdin=True)
