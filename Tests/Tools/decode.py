#!/usr/bin/env python3
"""Decodes a captured provider stream: prints a JSON line for each notification, or the error and
its offset.

    decode.py [--payload-limit BYTES] [FILE]

Written from the protocol, without sharing any code with the agent, so that a mistake in one shows
in the other.

    command 2   | 2:1 | length:4 | items...           item: | id:1 | length:2 | data |
    command 1   | 1:1 | identifier:4 | expiration:4 | tokenLength:2 | token | payloadLength:2 | payload |
    command 0   | 0:1 | tokenLength:2 | token | payloadLength:2 | payload |
"""
import argparse
import json
import struct
import sys
from dataclasses import dataclass

FRAME_BYTES_MAX = 16384  # larger than any legal frame
ITEMS = {1: "token", 2: "payload", 3: "identifier", 4: "expiration", 5: "priority"}
FIXED = {3: 4, 4: 4, 5: 1}


class Malformed(Exception):
    def __init__(self, offset, what):
        super().__init__(f"byte {offset}: {what}")
        self.offset, self.what = offset, what


@dataclass
class Notification:
    command: int
    offset: int
    raw: bytes
    token: bytes | None = None
    payload: bytes | None = None
    identifier: int | None = None
    expiration: int | None = None
    priority: int | None = None

    @property
    def is_barrier(self):
        """Whether this is a frame that the gateway must refuse by its token's size, to prove what
        came before."""
        return self.token is not None and len(self.token) not in (0, 32)

    @property
    def identifier_before_token(self):
        """The identifier, if it stands before the token: a gateway that stops at a wrong token
        knows it."""
        return self.identifier if self.command == 1 or self.raw[5:6] == b"\3" else None

    def content(self):
        """What must be delivered, on any connection and with any identifier."""
        return self.token, self.payload, self.expiration, self.priority

    def line(self):
        shown = {"offset": self.offset, "command": self.command, "identifier": self.identifier,
                 "token": None if self.token is None else self.token.hex(),
                 "payload": None if self.payload is None else self.payload.decode("utf-8", "replace"),
                 "expiration": self.expiration, "priority": self.priority}
        if self.is_barrier:
            shown["barrier"] = True
        return json.dumps(shown, ensure_ascii=False)


class Decoder:
    """Takes bytes in pieces of any size and yields complete notifications."""

    def __init__(self):
        self.held = bytearray()
        self.offset = 0  # of held[0] in the stream

    def feed(self, data):
        self.held += data
        found, at = [], 0
        try:
            while (end := self._end(at)) is not None:
                found.append(self._parse(at, end))
                at = end
        except Malformed:
            if not found:
                raise  # earlier notifications first; the next call finds the fault again
        finally:
            del self.held[:at]
            self.offset += at
        return found

    def finish(self):
        if self.held:
            self.feed(b"")
            raise Malformed(self.offset, f"the stream ends inside a frame, {len(self.held)} bytes into it")

    def _number(self, at, size):
        """Returns the big-endian number at `at`, or None while it is incomplete."""
        piece = self.held[at:at + size]
        return int.from_bytes(piece, "big") if len(piece) == size else None

    def _end(self, at):
        """Returns where the frame at `at` ends, or None while it is incomplete."""
        if at >= len(self.held):
            return None
        command = self.held[at]
        if command == 2:
            length = self._number(at + 1, 4)
            if length is None:
                return None
            end = at + 5 + length
        elif command in (0, 1):
            token_at = at + (1 if command == 0 else 9)
            token_length = self._number(token_at, 2)
            if token_length is None:
                return None
            payload_length = self._number(token_at + 2 + token_length, 2)
            if token_length > FRAME_BYTES_MAX:
                raise Malformed(self.offset + token_at, f"token of {token_length} bytes")
            if payload_length is None:
                return None
            end = token_at + 4 + token_length + payload_length
        else:
            raise Malformed(self.offset + at, f"unknown command {command}")
        if end - at > FRAME_BYTES_MAX:
            raise Malformed(self.offset + at, f"frame of {end - at} bytes")
        return end if end <= len(self.held) else None

    def _parse(self, at, end):
        frame = bytes(self.held[at:end])
        offset = self.offset + at
        found = Notification(frame[0], offset, frame)
        if found.command == 2:
            self._items(found)
        else:
            start = 1
            if found.command == 1:
                found.identifier, found.expiration = struct.unpack_from(">II", frame, 1)
                start = 9
            token_end = start + 2 + int.from_bytes(frame[start:start + 2], "big")
            found.token = frame[start + 2:token_end]
            found.payload = frame[token_end + 2:]
        return found

    @staticmethod
    def _items(found):
        frame, at = found.raw, 5
        while at < len(frame):
            where = found.offset + at
            if at + 3 > len(frame):
                raise Malformed(where, "the frame ends inside an item's head")
            item, length = struct.unpack_from(">BH", frame, at)
            data = frame[at + 3:at + 3 + length]
            if item not in ITEMS:
                raise Malformed(where, f"unknown item {item}")
            if len(data) < length:
                raise Malformed(where, f"item {item} of {length} bytes reaches beyond its frame")
            if length != FIXED.get(item, length):
                raise Malformed(where, f"item {item} of {length} bytes, {FIXED[item]} expected")
            if getattr(found, ITEMS[item]) is not None:
                raise Malformed(where, f"item {item} twice in a frame")
            setattr(found, ITEMS[item], int.from_bytes(data, "big") if item in FIXED else data)
            at += 3 + length


def fault(notification, payload_limit=2048):
    """Returns (status, words) if a gateway would refuse a well-formed frame, or None."""
    token, payload = notification.token, notification.payload
    if not token:
        return 2, "missing device token"
    if len(token) != 32:
        return 5, f"token of {len(token)} bytes"
    if not payload:
        return 4, "missing payload"
    if len(payload) > payload_limit:
        return 7, f"payload of {len(payload)} bytes, {payload_limit} allowed"
    if notification.command == 2 and notification.identifier is None:
        return 1, "missing identifier"
    if notification.priority not in (None, 5, 10):
        return 1, f"priority {notification.priority}"
    try:
        value = json.loads(payload.decode("utf-8"), parse_constant=_no_constant)
    except ValueError as error:
        return 1, f"payload is not JSON: {error}"
    if not isinstance(value, dict) or not isinstance(value.get("aps"), dict):
        return 1, "payload is not an object that holds the object aps"
    if notification.priority == 10 and set(value["aps"]) == {"content-available"}:
        return 1, "priority 10 with nothing but content-available"
    return None


def _no_constant(name):
    raise ValueError(f"{name} is not JSON")  # Python accepts NaN and Infinity, which RFC 8259 does not allow


def decode(data):
    """Returns all notifications of a complete stream; raises Malformed."""
    decoder = Decoder()
    found = decoder.feed(data)
    decoder.finish()
    return found


def main():
    parser = argparse.ArgumentParser(description="decodes a captured provider stream")
    parser.add_argument("file", nargs="?", default="-", help="the captured bytes; - or none: standard input")
    parser.add_argument("--payload-limit", type=int, default=2048, metavar="BYTES")
    given = parser.parse_args()
    stream = sys.stdin.buffer if given.file == "-" else open(given.file, "rb")
    decoder = Decoder()
    try:
        while piece := stream.read(65536):
            for notification in decoder.feed(piece):
                print(notification.line())
                wrong = fault(notification, given.payload_limit)
                if wrong and not notification.is_barrier:
                    raise Malformed(notification.offset, wrong[1])
        decoder.finish()
    except Malformed as error:
        sys.stdout.flush()
        sys.exit(f"{given.file}: {error}")


if __name__ == "__main__":
    main()
