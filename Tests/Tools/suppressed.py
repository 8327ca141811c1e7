#!/usr/bin/env python3
"""Compares the list of `tinypush token list --json` with what a feedback service sent.

    suppressed.py LIST [--must STREAM[:BYTES]]... [--may STREAM[:BYTES]]...

LIST is a file of JSON Lines. Prints a JSON object with three numbers: listed tokens; tuples of the
--must streams that are missing or have an earlier time; listed tokens that no stream contains, or
with a time that none contains. With BYTES, only the tuples that end within so many bytes count.
"""
import argparse
import json
import sys

import tuples


def stream(word):
    path, _, limit = word.rpartition(":")
    if not limit.isdigit():
        path, limit = word, None
    return open(path, "rb").read()[:limit and int(limit)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list")
    parser.add_argument("--must", action="append", default=[], metavar="STREAM[:BYTES]")
    parser.add_argument("--may", action="append", default=[], metavar="STREAM[:BYTES]")
    given = parser.parse_args()
    listed, order = {}, []
    for line in open(given.list):
        one = json.loads(line)
        order.append(one["token"])
        listed[bytes.fromhex(one["token"])] = one["time"]
    said = {}
    missing = 0
    for word in given.must:
        for when, token in tuples.decode(stream(word)):
            said.setdefault(token, set()).add(when)
            missing += listed.get(token, -1) < when
    for word in given.may:
        for when, token in tuples.decode(stream(word)):
            said.setdefault(token, set()).add(when)
    strange = sum(when not in said.get(token, ()) for token, when in listed.items())
    print(json.dumps({"listed": len(listed), "missing": missing, "strange": strange,
                      "twice": len(order) - len(listed)}))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"suppressed: {error!r}")
