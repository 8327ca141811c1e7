#!/usr/bin/env python3
"""Counts what a gateway saw of notifications whose tokens are the numbers from 1 to COUNT.

    tally.py COUNT RECORD|JOURNAL

RECORD is a directory of gateway.py's or http2gateway.py's, JOURNAL what `sandbox --json` said. Prints a JSON object:

    lost          of the numbers, how many were neither accepted nor refused; and the first ten of them
    refused       the numbers that were; barriers have none
    accepted      how many of the numbers
    duplicates    how often something was accepted that had been accepted before; and how often on the same connection
    seen          notifications that came, whatever became of them
    connections   that came about, TLS included
    faults        that a sandbox played

and of http2gateway.py's, where refused are those answered 400, 410 or 413:

    shownTwice    how often something was accepted again without the apns-collapse-id that it had before
    renamed       how often something came again without the apns-id that it had before
    providerTokens  how many different ones came
    outcomes      how many requests were answered so, by status and reason, or not at all, by the fault
"""
import collections
import json
import sys
from pathlib import Path

import decode

BARRIER_STATUS = 5  # of a token of a wrong size
REFUSALS = 400, 410, 413  # by HTTP/2, for good


def number(token):
    return int.from_bytes(token, "big")


def recorded(record):
    """(connection, number) of each accepted one, the numbers refused, and the sums, as gateway.py has them."""
    def frames(kind):
        return [(int(path.name.split(".")[0]), number(frame.token))
                for path in record.glob(f"*.{kind}")
                # What was thrown away may end within a frame.
                for frame in decode.Decoder().feed(path.read_bytes()) if not frame.is_barrier]

    refused = [token for _, token in frames("refused")]
    events = [json.loads(line)["event"] for line in open(record / "events")]
    return frames("accepted"), refused, {
        "discarded": len(frames("discarded")), "connections": events.count("open"), "faults": 0}


def journalled(journal):
    """The same, as a sandbox has it."""
    accepted, refused, discarded, kinds = [], [], 0, collections.Counter()
    for line in open(journal):
        event = json.loads(line)
        kind = event["event"]
        kinds[kind] += 1
        if kind == "accepted":
            accepted.append((event["connection"], int(event["token"], 16)))
        elif kind == "discarded":
            discarded += event["notifications"]
        elif kind == "refused" and event["status"] != BARRIER_STATUS:
            refused.append(int(event["token"], 16))
    return accepted, refused, {
        "discarded": discarded, "connections": kinds["connected"], "faults": kinds["fault"]}


def requested(record):
    """The same, as http2gateway.py has them; and what is said of HTTP/2 alone."""
    accepted, refused, discarded = [], [], 0
    outcomes, tokens, names, shown = collections.Counter(), set(), {}, {}
    twice = renamed = 0
    for line in open(record / "requests"):
        request = json.loads(line)
        headers, token = request["headers"], int(request["token"], 16)
        outcomes[" ".join(str(part) for part in (request["answer"] or request["fault"], request["reason"]) if part)] += 1
        tokens.add(headers.get("authorization"))
        name = headers.get("apns-id")
        renamed += token in names and names[token] != name
        names[token] = name
        if request["accepted"]:
            collapse = headers.get("apns-collapse-id")
            twice += token in shown and (collapse is None or shown[token] != collapse)
            shown[token] = collapse
            accepted.append((request["connection"], token))
        elif request["answer"] in REFUSALS:
            refused.append(token)
        else:
            discarded += 1
    events = [json.loads(line)["event"] for line in open(record / "events")]
    return accepted, refused, {
        "discarded": discarded, "connections": events.count("open"), "faults": 0, "shownTwice": twice, "renamed": renamed,
        "providerTokens": len(tokens - {None}), "outcomes": dict(outcomes)}


def main():
    count, where = int(sys.argv[1]), Path(sys.argv[2])
    read = requested if (where / "requests").exists() else recorded if where.is_dir() else journalled
    accepted, refused, sums = read(where)
    known = {token for _, token in accepted}
    lost = [token for token in range(1, count + 1) if token not in known and token not in refused]
    print(json.dumps({
        "lost": len(lost), "firstLost": lost[:10], "refused": refused, "accepted": len(known),
        "duplicates": len(accepted) - len(known), "duplicatesWithin": len(accepted) - len(set(accepted)),
        "seen": len(accepted) + len(refused) + sums["discarded"], **sums}))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, IndexError, decode.Malformed) as error:
        sys.exit(f"tally: {error}")
