#!/usr/bin/env python3
"""The feedback service's tuples: makes them from a seed, and decodes streams of them.

    tuples.py [--list] STREAM...

    | timestamp:4 | tokenLength:2 | token |            big-endian; UNIX seconds, UTC

Prints a line for each tuple of the streams in order: "2023-11-14T22:13:20Z HEX". With --list,
prints what a list must contain after them: each token of 32 bytes once, with its latest time,
sorted by token. An incomplete tuple at the end of a stream is left out. Written from the protocol,
without sharing any code with the agent.
"""
import argparse
import random
import sys
import time

TOKEN_BYTES = 32
TUPLE_BYTES = 6 + TOKEN_BYTES
BLOCK = 10_000
# The first byte of a timestamp: from January 2021 to March 2024.
TIME_HEADS = bytes(0x60 + byte % 6 for byte in range(256))


def block(seed, index):
    """Returns the tuples from `index` * BLOCK on, in a seed's endless list."""
    chance = random.Random(f"{seed} {index}")
    made = bytearray(BLOCK * TUPLE_BYTES)
    made[0::TUPLE_BYTES] = chance.randbytes(BLOCK).translate(TIME_HEADS)
    for at in (1, 2, 3, *range(6, TUPLE_BYTES)):
        made[at::TUPLE_BYTES] = chance.randbytes(BLOCK)
    made[5::TUPLE_BYTES] = bytes([TOKEN_BYTES]) * BLOCK
    return bytes(made)


def tuples(seed, count):
    """Returns the first `count` tuples of a seed."""
    return b"".join(block(seed, index) for index in range(-(-count // BLOCK)))[:count * TUPLE_BYTES]


def ends(stream):
    """Returns where each complete tuple ends."""
    at = 0
    while at + 6 <= len(stream):
        at += 6 + int.from_bytes(stream[at + 4:at + 6], "big")
        if at <= len(stream):
            yield at


def decode(stream):
    """Yields (timestamp, token) of each complete tuple."""
    start = 0
    for end in ends(stream):
        yield int.from_bytes(stream[start:start + 4], "big"), stream[start + 6:end]
        start = end


def latest(streams):
    """Returns (timestamp, token) of each entry of a list after these streams."""
    found = {}
    for stream in streams:
        for when, token in decode(stream):
            if len(token) == TOKEN_BYTES and when >= found.get(token, 0):
                found[token] = when
    return [(found[token], token) for token in sorted(found)]


def line(when, token):
    return f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(when))} {token.hex()}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams", nargs="*", metavar="STREAM")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    streams = [open(path, "rb").read() for path in given.streams]
    found = latest(streams) if given.list else (one for stream in streams for one in decode(stream))
    sys.stdout.writelines(line(*one) for one in found)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"tuples: {error}")
