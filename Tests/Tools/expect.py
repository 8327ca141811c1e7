#!/usr/bin/env python3
"""Compares what a gateway captured with the notification files, byte for byte.

    expect.py FILE|DIR... --captured STREAM... [--format 2|1|0] [--refused TOKENHEX]... [--repeats] [--recipients DIR]
    expect.py FILE|DIR... --print

Notifications of a file and a priority come in their order in the file. Each
connection, with one captured stream, numbers from 1. A barrier may be at any place, and takes a
number too. Each file gives an expiration: this program reads no clock.
"""
import argparse
import json
import re
import struct
import sys
from json.decoder import scanstring
from pathlib import Path

import decode

SPACE = re.compile(r"[ \t\r\n]*")
STRING_OR_SPACE = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')
READ = json.JSONDecoder(parse_constant=decode._no_constant)


class Refused(Exception):
    pass


def members(text, at):
    """(key -> the value's text as it stands, where the object ends). Python's own reader finds
    where values end."""
    def skip(at):
        return SPACE.match(text, at).end()

    found = {}
    if text[at:at + 1] != "{":
        raise Refused(f"an object expected at character {at}")
    at = skip(at + 1)
    if text[at:at + 1] == "}":
        return found, at + 1
    while True:
        if text[at:at + 1] != '"':
            raise Refused(f"a key expected at character {at}")
        key, at = scanstring(text, at + 1)
        at = skip(at)
        if text[at:at + 1] != ":":
            raise Refused(f"':' expected at character {at}")
        start = skip(at + 1)
        try:
            _, at = READ.raw_decode(text, start)
        except ValueError as error:
            raise Refused(str(error)) from None
        if key in found:
            raise Refused(f"the key {key!r} twice")
        found[key] = text[start:at]
        at = skip(at)
        mark = text[at:at + 1]
        at = skip(at + 1)
        if mark == "}":
            return found, at
        if mark != ",":
            raise Refused(f"',' or '}}' expected at character {at}")


def objects(text):
    at = SPACE.match(text).end()
    while at < len(text):
        found, end = members(text, at)
        yield found, text[at:end]
        at = SPACE.match(text, end).end()


def compact(text):
    return STRING_OR_SPACE.sub(lambda match: match.group(1) or "", text)


def listed(value):
    return value if isinstance(value, list) else [value]


def recipients(name, directory):
    """Returns the tokens of a recipients file; a name that is a token stands for itself."""
    if re.fullmatch(r"[0-9A-Fa-f]{64}", name):
        return [name]
    if directory is None:
        raise Refused(f"recipients {name!r}: no --recipients directory given")
    lines = (line.split("#")[0].strip() for line in open(Path(directory, name)))
    return [line for line in lines if line]


def notifications(path, directory=None):
    """Yields (token, payload, expiration, priority) of each notification in a file."""
    for found, whole in objects(Path(path).read_text("utf-8")):
        if "aps" in found:
            found = {"payload": whole, "to": '"default"'}
        tokens = [token for key in ("token", "tokens", "to") if key in found
                  for name in listed(json.loads(found[key])) for token in recipients(name, directory)]
        if "expiration" not in found:
            raise Refused(f"{path}: no expiration")
        expiration = json.loads(found["expiration"])
        priority = json.loads(found.get("priority", "10"))
        for token in tokens:
            yield bytes.fromhex(token), compact(found["payload"]).encode(), expiration, priority


def frame(identifier, token, payload, expiration, priority, layout=2):
    if layout == 0:
        return struct.pack(">BH", 0, len(token)) + token + struct.pack(">H", len(payload)) + payload
    if layout == 1:
        return (struct.pack(">BIIH", 1, identifier, expiration, len(token)) + token
                + struct.pack(">H", len(payload)) + payload)
    items = b"".join(struct.pack(">BH", item, len(data)) + data for item, data in (
        (3, struct.pack(">I", identifier)), (1, token), (2, payload), (4, struct.pack(">I", expiration)),
        (5, bytes([priority]))))
    return struct.pack(">BI", 2, len(items)) + items


def in_name_order(paths):
    found = []
    for path in map(Path, paths):
        found += sorted(path.iterdir()) if path.is_dir() else [path]
    return [path for path in found if not path.name.startswith(".")]


def compare(queues, streams, layout=2, repeats=False):
    """Returns the first difference in words, or None. `queues`: the notifications of each file and
    priority. `streams`: (name, bytes) of each connection."""
    places = [0] * len(queues)

    def take(sent, identifier):
        for number, queue in enumerate(queues):
            if places[number] < len(queue) and sent.raw == frame(identifier, *queue[places[number]], layout):
                places[number] += 1
                return True
        return repeats and any(
            earlier[0] == sent.token and sent.raw == frame(identifier, *earlier, layout)
            for queue, place in zip(queues, places) for earlier in queue[:place])

    for name, data in streams:
        identifier = 0
        for sent in decode.decode(data):
            identifier += 1
            where = f"{name}: byte {sent.offset}: "
            if sent.is_barrier:
                if sent.identifier != identifier:
                    return f"{where}barrier with identifier {sent.identifier}, {identifier} expected"
            elif not take(sent, identifier):
                wanted = [frame(identifier, *queue[place], layout).hex()
                          for queue, place in zip(queues, places) if place < len(queue)]
                return f"{where}not expected: {sent.line()}\n  captured {sent.raw.hex()}\n  expected one of {wanted[:9]}"
    for queue, place in zip(queues, places):
        if place < len(queue):
            return f"not all were captured; a next one would be token {queue[place][0].hex()}"
    return None


def in_queues(notifications):
    """Splits a file's notifications by priority: the urgent ones may overtake."""
    notifications = list(notifications)
    queues = [[one for one in notifications if (one[3] == 10) == isHigh] for isHigh in (True, False)]
    return [queue for queue in queues if queue]


def main():
    parser = argparse.ArgumentParser(description="compares a capture with the notification files behind it")
    parser.add_argument("files", nargs="+", help="notification files, or directories of them")
    parser.add_argument("--captured", nargs="+", default=[], metavar="STREAM", help="one for each connection, in order")
    parser.add_argument("--print", action="store_true", help="prints the expected stream")
    parser.add_argument("--format", type=int, default=2, choices=(0, 1, 2))
    parser.add_argument("--refused", action="append", default=[], metavar="TOKENHEX", help="a token that must not be accepted")
    parser.add_argument("--repeats", action="store_true", help="allows notifications to come again")
    parser.add_argument("--recipients", metavar="DIR")
    given = parser.parse_args()
    try:
        refused = {bytes.fromhex(token) for token in given.refused}
        files = [[one for one in notifications(path, given.recipients) if one[0] not in refused]
                 for path in in_name_order(given.files)]
        expected = [one for file in files for one in file]
        if given.print:
            for identifier, one in enumerate(expected, 1):
                sys.stdout.buffer.write(frame(identifier, *one, given.format))
            return
        queues = [queue for file in files for queue in in_queues(file)]
        difference = compare(queues, [(name, Path(name).read_bytes()) for name in given.captured],
                             given.format, given.repeats)
    except (Refused, decode.Malformed, ValueError, OSError) as error:
        sys.exit(f"expect: {error}")
    if difference:
        sys.exit(f"expect: {difference}")
    print(f"{len(expected)} notifications, byte for byte")


if __name__ == "__main__":
    main()
