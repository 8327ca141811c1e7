#!/usr/bin/env python3
"""Counts what a gateway received of the notifications whose tokens are the numbers from 1 to COUNT.

    tally.py COUNT RECORD|JOURNAL [TOKEN]

RECORD is a directory of gateway.py or http2gateway.py; JOURNAL is the output of `sandbox --json`.
With TOKEN, the numbers are those in the texts ("Tank 7") to this device token, or to the browser
whose endpoint ends with it.
Prints a JSON object:

    lost          how many numbers were neither accepted nor refused, and the first ten of them
    refused       the refused numbers; barriers have none
    accepted      how many numbers were accepted
    duplicates    how often a number was accepted again; and how often on the same connection
    seen          all notifications that came
    connections   connections, with a completed handshake
    faults        faults that a sandbox caused

with TOKEN:

    shownTwice    how often a number was accepted again with another collapse ID or payload

and for http2gateway.py, where the statuses 400, 410 and 413 count as refused:

    shownTwice    how often a number was accepted again without its earlier apns-collapse-id
    renamed       how often a number came again without its earlier apns-id
    providerTokens  how many different provider tokens came
    outcomes      how many requests had each answer, by status and reason; or no answer, by fault
"""
import collections
import json
import re
import sys
from pathlib import Path

import decode

BARRIER_STATUS = 5  # invalid token size
REFUSALS = 400, 410, 413  # permanent refusals of HTTP/2


def number(token):
    return int.from_bytes(token, "big")


def recorded(record):
    """Returns (connection, number) of each accepted notification, the refused numbers, and the
    totals, from gateway.py's record."""
    def frames(kind):
        return [(int(path.name.split(".")[0]), number(frame.token))
                for path in record.glob(f"*.{kind}")
                # Discarded bytes may end within a frame.
                for frame in decode.Decoder().feed(path.read_bytes()) if not frame.is_barrier]

    refused = [token for _, token in frames("refused")]
    events = [json.loads(line)["event"] for line in open(record / "events")]
    return frames("accepted"), refused, {
        "discarded": len(frames("discarded")), "connections": events.count("open"), "faults": 0}


def journalled(journal, token=None):
    """Returns the same from a sandbox's journal."""
    accepted, refused, discarded, kinds, shown, twice = [], [], 0, collections.Counter(), {}, 0
    for line in open(journal):
        event = json.loads(line)
        kind = event["event"]
        kinds[kind] += 1
        if token and kind in ("accepted", "refused"):
            if kind == "accepted" and event["token"] == token:
                name = event["collapseId"], str(event["payload"])
                found = int(re.search(r"Tank (\d+)", name[1])[1])
                accepted.append((event["connection"], found))
                twice += shown.setdefault(found, name) != name
        elif kind == "accepted":
            accepted.append((event["connection"], int(event["token"], 16)))
        elif kind == "discarded":
            discarded += event["notifications"]
        elif kind == "refused" and event["status"] != BARRIER_STATUS:
            refused.append(int(event["token"], 16))
    return accepted, refused, {
        "discarded": discarded, "connections": kinds["connected"], "faults": kinds["fault"]} | (
        {"shownTwice": twice} if token else {})


def requested(record):
    """Returns the same from http2gateway.py's record, and the figures of HTTP/2."""
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
        "discarded": discarded, "connections": events.count("open"), "faults": events.count("fault"),
        "shownTwice": twice, "renamed": renamed, "providerTokens": len(tokens - {None}), "outcomes": dict(outcomes)}


def main():
    count, where = int(sys.argv[1]), Path(sys.argv[2])
    if where.is_dir():
        accepted, refused, sums = (requested if (where / "requests").exists() else recorded)(where)
    else:
        accepted, refused, sums = journalled(where, *sys.argv[3:])
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
