#!/usr/bin/env python3
"""A server that attacks each client that connects, with raw frames that no sane HTTP/2 server
sends.

    hostile.py --certificate PEM --key PEM --ca PEM --record DIR --attack NAME [option...]
    hostile.py --list

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
import sys
import time

import peer

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM = ACK = 1
END_HEADERS, PADDED = 4, 8
TYPES = ("DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE",
         "CONTINUATION")
TABLE_SIZE, ENABLE_PUSH, MAX_STREAMS, WINDOW_SIZE, FRAME_SIZE = 1, 2, 3, 4, 5
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


def empty_continuation_flood():
    yield settings((MAX_STREAMS, 100))
    stream = yield REQUEST
    yield frame(HEADERS, 0, stream, TABLE + OK)
    yield from forever(frame(CONTINUATION, 0, stream))


def window_swing():
    yield settings((MAX_STREAMS, 100))
    yield from forever(settings((WINDOW_SIZE, LARGEST)) + settings((WINDOW_SIZE, 0)))


def limit_swing():
    yield settings((MAX_STREAMS, 100))
    yield from forever(settings((MAX_STREAMS, 0)) + settings((MAX_STREAMS, LARGEST)))


def table_swing():
    yield settings((MAX_STREAMS, 100))
    yield from forever(settings((TABLE_SIZE, 0)) + settings((TABLE_SIZE, 0xFFFFFFFF)))


def large_table():
    yield settings((MAX_STREAMS, 100), (TABLE_SIZE, 0xFFFFFFFF))
    while True:
        stream = yield REQUEST
        yield headers(stream, OK, END_HEADERS | END_STREAM)


def closed_window():
    """Never opens the windows again, so that DATA cannot be sent."""
    yield settings((WINDOW_SIZE, 0))
    while True:
        yield REQUEST


def no_streams():
    yield settings((MAX_STREAMS, 0))
    while True:
        stream = yield REQUEST
        yield headers(stream, OK, END_HEADERS | END_STREAM)


def drip():
    """Sends an answer at one byte per second."""
    yield settings((MAX_STREAMS, 100))
    stream = yield REQUEST
    for byte in headers(stream, OK + header(b"x", b"a" * 1000)):
        yield bytes([byte])
        time.sleep(1)


def goaway_growing():
    """Sends GOAWAY frames, each naming a later stream than the one before."""
    yield settings((MAX_STREAMS, 100))
    stream = 1
    while True:
        yield frame(GOAWAY, payload=struct.pack(">II", min(stream, LARGEST), 0)) * 100
        stream += 2


def silence():
    while True:
        yield REQUEST


def whole(block):
    return lambda stream: headers(stream, block, END_HEADERS | END_STREAM)


def part(block):
    return lambda stream: headers(stream, block)


ATTACKS = {
    # floods
    "settings-flood": ("SETTINGS, each of which wants an acknowledgement", flood(settings())),
    "settings-ack-flood": ("acknowledgements of SETTINGS that nobody sent", flood(frame(SETTINGS, ACK))),
    "ping-flood": ("PING, each of which wants an acknowledgement", flood(frame(PING, payload=b"12345678"))),
    "ping-ack-flood": ("acknowledgements of PING that nobody sent", flood(frame(PING, ACK, payload=b"12345678"))),
    "priority-flood": ("PRIORITY", flood(frame(PRIORITY, 0, 1, struct.pack(">IB", 0, 1)))),
    "window-update-flood": ("WINDOW_UPDATE by 1", flood(frame(WINDOW, payload=struct.pack(">I", 1)))),
    "unknown-flood": ("frames of a type that does not exist", flood(frame(0xFA, payload=b"?" * 16))),
    "goaway-flood": ("GOAWAY without an error, for ever", flood(frame(GOAWAY, payload=struct.pack(">II", 0, 0)))),
    "goaway-growing": ("GOAWAY, each naming a later stream", goaway_growing),
    "reset-flood": ("RST_STREAM of a stream, for ever",
                    answered(endless=lambda stream: frame(RST, 0, stream, struct.pack(">I", 8)))),
    "refuse-all": ("RST_STREAM with REFUSED_STREAM for each request, for ever",
                   answered(lambda stream: frame(RST, 0, stream, struct.pack(">I", REFUSED)))),
    "empty-data-flood": ("empty DATA frames in an answer",
                         answered(part(NOT_FOUND), endless=lambda stream: frame(DATA, 0, stream))),
    "endless-body": ("DATA in an answer without end",
                     answered(part(NOT_FOUND), endless=lambda stream: frame(DATA, 0, stream, b"a" * 16384))),
    "endless-hints": ("103 before an answer, for ever", answered(endless=part(header(b":status", b"103")))),
    "window-swing": ("INITIAL_WINDOW_SIZE between 0 and the largest, for ever", window_swing),
    "limit-swing": ("MAX_CONCURRENT_STREAMS between 0 and the largest, for ever", limit_swing),
    "table-swing": ("HEADER_TABLE_SIZE between 0 and 4 GB, for ever", table_swing),
    # headers
    "continuation-flood": ("CONTINUATION without an end of the headers", continuation_flood),
    "empty-continuation-flood": ("the same, with nothing in them", empty_continuation_flood),
    "hpack-bomb": ("a header of 4,000 bytes, named 16,000 times", hpack_bomb),
    "hpack-garbage": ("an index that is not in the table", answered(whole(OK + b"\xff\xff\xff\x7f"))),
    "hpack-huffman": ("a Huffman code of nothing but its end", answered(whole(OK + b"\x00\x01x\x84\xff\xff\xff\xff"))),
    "hpack-integer": ("a length that does not end", answered(whole(OK + b"\x00\x01x\x7f" + b"\xff" * 100))),
    "hpack-table": ("a table larger than the client allows", answered(whole(integer(1 << 20, 5, 0x20) + OK))),
    "huge-header": ("a header value of 100 KB", answered(whole(OK + header(b"x-huge", b"a" * 100_000)))),
    "many-headers": ("ten thousand headers",
                     answered(whole(OK + b"".join(header(b"x-%d" % at, b"a") for at in range(10_000))))),
    "no-status": ("an answer without :status", answered(whole(header(b"x", b"a")))),
    "bad-status": ("an answer whose :status is no number", answered(whole(header(b":status", b"fine")))),
    "two-statuses": ("an answer with two of them", answered(whole(OK + OK))),
    "late-status": ("an answer whose :status comes last", answered(whole(header(b"x", b"a") + OK))),
    "status-101": ("101, which HTTP/2 does not have", answered(part(header(b":status", b"101")), whole(OK))),
    "last-hint": ("103 that ends the stream", answered(whole(header(b":status", b"103")))),
    "request-header": ("an answer with :path", answered(whole(OK + header(b":path", b"/")))),
    "upper-case": ("a header name in upper case", answered(whole(OK + header(b"X-Upper", b"a")))),
    "connection-header": ("connection: close", answered(whole(OK + header(b"connection", b"close")))),
    "bad-value": ("a header value with a line end in it", answered(whole(OK + header(b"x", b"a\r\nb: c")))),
    "wrong-length": ("a body longer than its content-length",
                     answered(part(NOT_FOUND + header(b"content-length", b"1")),
                              lambda stream: frame(DATA, END_STREAM, stream, b"abcdef"))),
    # frames out of place
    "push-promise": ("PUSH_PROMISE, though the client wants none",
                     answered(lambda stream: frame(PUSH, END_HEADERS, stream, struct.pack(">I", 2) + TABLE + OK))),
    "headers-on-zero": ("HEADERS on stream 0", begun(frame(HEADERS, END_HEADERS, 0, OK))),
    "headers-on-idle": ("HEADERS on a stream that the client did not open", begun(frame(HEADERS, END_HEADERS, 1001, OK))),
    "headers-on-even": ("HEADERS on a stream of the server's own", begun(frame(HEADERS, END_HEADERS, 2, OK))),
    "data-on-zero": ("DATA on stream 0", begun(frame(DATA, 0, 0, b"?"))),
    "data-on-idle": ("DATA on a stream that the client did not open", begun(frame(DATA, 0, 1001, b"?"))),
    "data-first": ("DATA before the headers of an answer", answered(lambda stream: frame(DATA, END_STREAM, stream, b"?"))),
    "data-after-end": ("DATA behind the end of an answer",
                       answered(whole(OK), lambda stream: frame(DATA, 0, stream, b"?"))),
    "headers-twice": ("two answers on one stream", answered(whole(OK), whole(NOT_FOUND))),
    "reset-idle": ("RST_STREAM of a stream that the client did not open", begun(frame(RST, 0, 1001, struct.pack(">I", 0)))),
    "reset-length": ("RST_STREAM of three bytes", answered(lambda stream: frame(RST, 0, stream, b"???"))),
    "continuation-alone": ("CONTINUATION without HEADERS", begun(frame(CONTINUATION, END_HEADERS, 1, OK))),
    "continuation-torn": ("PING between HEADERS and CONTINUATION",
                          answered(lambda stream: frame(HEADERS, 0, stream, TABLE + OK),
                                   lambda stream: frame(PING, payload=b"12345678"))),
    "settings-on-stream": ("SETTINGS on stream 1", begun(frame(SETTINGS, 0, 1))),
    "ping-length": ("PING of seven bytes", begun(frame(PING, payload=b"1234567"))),
    "ping-on-stream": ("PING on stream 1", begun(frame(PING, 0, 1, b"12345678"))),
    "goaway-on-stream": ("GOAWAY on stream 1", begun(frame(GOAWAY, 0, 1, struct.pack(">II", 0, 0)))),
    "goaway-length": ("GOAWAY of four bytes", begun(frame(GOAWAY, payload=b"\0\0\0\0"))),
    "goaway-garbage": ("GOAWAY with 16,000 bytes that are not text",
                       begun(frame(GOAWAY, payload=struct.pack(">II", 0, 11) + bytes(range(256)) * 62))),
    "padding": ("DATA with more padding than it has bytes",
                answered(part(OK), lambda stream: frame(DATA, PADDED, stream, b"\xff?"))),
    "oversized-frame": ("a frame that says it is of 16 MB",
                        answered(lambda stream: frame(HEADERS, END_HEADERS, stream, TABLE + OK, length=(1 << 24) - 1),
                                 endless=lambda stream: b"a" * 16384)),
    # windows and settings
    "window-overflow": ("WINDOW_UPDATE of the connection beyond the largest window",
                        begun(frame(WINDOW, payload=struct.pack(">I", LARGEST)) * 2)),
    "stream-window-overflow": ("WINDOW_UPDATE of a stream beyond the largest window",
                               answered(lambda stream: frame(WINDOW, 0, stream, struct.pack(">I", LARGEST)) * 2)),
    "window-zero": ("WINDOW_UPDATE by nothing", begun(frame(WINDOW, payload=struct.pack(">I", 0)))),
    "window-on-idle": ("WINDOW_UPDATE of a stream that the client did not open",
                       begun(frame(WINDOW, 0, 1001, struct.pack(">I", 1)))),
    "settings-window": ("INITIAL_WINDOW_SIZE beyond the largest window",
                        lambda: iter([settings((WINDOW_SIZE, 1 << 31))])),
    "settings-frame-size": ("MAX_FRAME_SIZE of 100", lambda: iter([settings((FRAME_SIZE, 100))])),
    "settings-push": ("ENABLE_PUSH 2", lambda: iter([settings((ENABLE_PUSH, 2))])),
    "settings-length": ("SETTINGS of five bytes", lambda: iter([frame(SETTINGS, payload=b"\0\4\0\0\0")])),
    "settings-ack-payload": ("an acknowledgement of SETTINGS with settings in it",
                             begun(frame(SETTINGS, ACK, payload=b"\0\4\0\0\0\0"))),
    "large-table": ("allows a header table of 4 GB, and is otherwise sane", large_table),
    "closed-window": ("INITIAL_WINDOW_SIZE 0, for ever", closed_window),
    "no-streams": ("MAX_CONCURRENT_STREAMS 0, for ever", no_streams),
    # no HTTP/2, or half of it
    "garbage": ("random bytes instead of SETTINGS", lambda: forever(random.Random(1).randbytes(16384))),
    "http1": ("an answer of HTTP/1.1", lambda: iter([b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n<html>"])),
    "ping-first": ("PING before SETTINGS", lambda: iter([frame(PING, payload=b"12345678")])),
    "no-settings": ("not a word", silence),
    "half-frame": ("half of a frame, and then nothing",
                   answered(lambda stream: frame(HEADERS, END_HEADERS, stream, TABLE + OK, length=100))),
    "drip": ("an answer of a byte a second", drip),
}

# Attacks that a client may tolerate, and that may be answered.
HARMLESS = {"settings-ack-flood", "ping-ack-flood", "large-table", "status-101", "bad-value", "data-after-end"}


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
            waits_to_read, waits_to_write = True, False
            if self.unsent:
                try:
                    self.sent += (size := self.stream.send(self.unsent[:16384]))
                    self.unsent = self.unsent[size:]
                except ssl.SSLWantWriteError:
                    waits_to_write = True
                except ssl.SSLWantReadError:
                    pass
            if not self.given.deaf:
                self.read()
            if not self.unsent or waits_to_write:
                if until() or self.is_closed:
                    return
                select.select([] if self.given.deaf else [self.stream], [self.stream] if waits_to_write else [], [], 1)

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
            elif kind == SETTINGS and not flags & ACK and self.given.attack not in ("no-settings", "garbage"):
                self.unsent += frame(SETTINGS, ACK)
        self.held = self.held[at:]


def arguments():
    if sys.argv[1:] == ["--list"]:
        for name, (what, _) in ATTACKS.items():
            print(f"{name:25} {what}")
        sys.exit()
    parser = peer.parser(__doc__)
    parser.set_defaults(alpn="h2")
    parser.add_argument("--attack", required=True, choices=ATTACKS, metavar="NAME")
    parser.add_argument("--megabytes", type=int, default=64, metavar="N", help="the most bytes sent on a connection (64)")
    parser.add_argument("--deaf", action="store_true", help="reads only what the attack needs")
    given = parser.parse_args()
    given.optional = True
    return given


if __name__ == "__main__":
    peer.run(lambda: Hostile(arguments()), "hostile", heeds_stdin=True)
