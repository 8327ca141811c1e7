#!/usr/bin/env python3
"""Compares the scanner's results for JSON documents with those of Python's json.

    differential.py [--seed N] JUDGE...

JUDGE is the program of Tests/Judge: .build/release/judge, or a board's program (make
build/armhf/judge) after the program that runs it. The documents come from the seed: valid ones,
written in all the ways that JSON allows, and cut, spliced or changed ones. For each document, both
must agree whether it is JSON, and on a notification's payload without white space. One of these
must explain a difference:

    constants    Python accepts NaN, Infinity and -Infinity, which RFC 8259 does not allow
    surrogates   Python accepts a single escaped half of a surrogate pair, which is no character
    depth        Python accepts more than 32 levels

Both accept duplicate keys. Numbers are compared as they are written. Python first decodes the bytes
strictly, and both refuse a byte order mark.
"""
import argparse
import collections
import json
import random
import re
import struct
import subprocess
import sys

DEPTH = 32
VALUE, TRAILING = 0, 255
PROBLEMS = ("unexpectedEnd expectedValue expectedKey expectedColon expectedCommaOrBrace expectedCommaOrBracket trailingComma "
            "invalidNumber invalidEscape loneSurrogate invalidUTF8 controlCharacter tooDeep byteOrderMark").split()
DOCUMENTS = 50_000
BATCH = 20_000


# --- documents ---

class Documents:
    """Documents made from a seed, one after the other."""

    SPACES = ("", "", "", "", " ", "\n", "\t", "\r\n", "  \n ")
    WORDS = ("aps", "alert", "badge", "token", "", "a", "Tank low", "ä", "水位", "😀", "\u07ff\u0800\uffff\U00010000\U0010ffff",
             "\x7f", "x" * 7, "y" * 8, "z" * 9, "\ufeff", "\u2028")
    ESCAPES = ('\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0000", "\\u00e4", "\\uD83D\\uDE00", "\\uFFFF")
    # Pieces that damage a document.
    PIECES = [piece.encode() for piece in (
        '{}[]:,"\\ \n\t0123456789-+.eEtfn', "NaN", "Infinity", "-Infinity", "true", "nul", "\\u", "\\uD800", "\\uDC00", "\\x",
        "1e5", "-", "00", "0.", "'", "/*", "//", "\ufeff", "\0", "\x1f", "\x0c", "\u00a0", "\\u12", '"', '"a":', "{", "}", "[", "]", ",", ":")]
    PIECES += [b"\x80", b"\xc0\xaf", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xff",
               b"[" * 20, b'{"a":' * 20, b"9" * 40]

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.before = b"[]"

    def space(self):
        return self.random.choice(self.SPACES)

    def string(self):
        draw = self.random
        parts = [draw.choice(self.ESCAPES) if draw.random() < 0.3 else draw.choice(self.WORDS)
                 for _ in range(draw.randrange(4))]
        return '"' + "".join(parts) + '"'

    def number(self):
        draw = self.random
        whole = draw.choice(("0", str(draw.randrange(1, 10)), str(draw.randrange(1, 10 ** draw.randrange(1, 25)))))
        fraction = "." + str(draw.randrange(10 ** draw.randrange(1, 9))).zfill(draw.randrange(1, 5)) if draw.random() < 0.3 else ""
        power = draw.choice("eE") + draw.choice(("", "+", "-")) + str(draw.randrange(400)) if draw.random() < 0.3 else ""
        return draw.choice(("", "-")) + whole + fraction + power

    def value(self, levels):
        draw = self.random
        kind = draw.randrange(9 if levels else 5)
        if kind < 2:
            return self.string()
        if kind < 4:
            return self.number()
        if kind == 4:
            return draw.choice(("true", "false", "null"))
        count = draw.randrange(5)
        if kind < 7:
            inner = [self.value(levels - 1) for _ in range(count)]
            ends = "[]"
        else:
            inner = [self.string() + self.space() + ":" + self.space() + self.value(levels - 1) for _ in range(count)]
            ends = "{}"
        return ends[0] + ",".join(self.space() + one + self.space() for one in inner or [""]) + ends[1]

    def nested(self):
        """Returns a value of about the deepest level allowed."""
        levels = self.random.randrange(DEPTH - 3, DEPTH + 4)
        opened = [self.random.choice(("[", '{"a":', '[1,{"b":[],"c":')) for _ in range(levels)]
        closed = "".join({"[": "]", '{"a":': "}"}.get(one, "}]") for one in reversed(opened))
        return "".join(opened) + self.random.choice(("1", "[]", "{}", '""')) + closed

    def spoil(self, document):
        draw = self.random
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            place = draw.randrange(len(document) + 1)
            end = min(len(document), place + draw.choice((1, 1, 1, 2, 5, 20)))
            how = draw.randrange(8)
            if how == 0:
                document = document[:place]
            elif how == 1:
                document = document[:place] + document[end:]
            elif how == 2:
                document = document[:place] + document[place:end] * 2 + document[end:]
            elif how == 3:
                document = document[:place] + self.before[draw.randrange(len(self.before) + 1):]
            elif how == 4:
                document = document[:place] + bytes([draw.randrange(256)]) + document[end:]
            elif how == 5 and document:
                place = min(place, len(document) - 1)
                document = document[:place] + bytes([document[place] ^ 1 << draw.randrange(8)]) + document[place + 1:]
            else:
                document = document[:place] + draw.choice(self.PIECES) + document[place if how == 6 else end:]
        return document

    def next(self):
        draw = self.random
        text = self.nested() if draw.random() < 0.03 else self.value(4)
        document = (self.space() + text + self.space()).encode()
        if draw.random() < 0.65:
            document = self.spoil(document)
        if draw.random() < 0.002:
            document = draw.choice((b"\xef\xbb\xbf" + document, document.decode("utf-8", "replace").encode("utf-16"),
                                    b"[" + b"7" * 5000 + b"]", b"[" * 5000))
        self.before = document
        return document


# --- Python's JSON ---

class Refused(Exception):
    pass


def python(document):
    """Returns the value, and everything in it that could explain another result."""
    try:
        text = document.decode()
    except UnicodeDecodeError as error:
        raise Refused(error)
    constants = []
    try:
        value = json.loads(text, parse_constant=constants.append, object_pairs_hook=lambda pairs: ("object", pairs),
                           parse_int=lambda digits: ("number", digits), parse_float=lambda digits: ("number", digits))
    except RecursionError:
        return None, ["depth"]
    except json.JSONDecodeError as error:
        raise Refused(error)
    halves = any("\ud800" <= character <= "\udfff" for character in strings(value))
    return value, ["constants"] * bool(constants) + ["surrogates"] * halves + ["depth"] * (depth(text) > DEPTH)


def strings(value):
    if isinstance(value, str):
        yield from value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from strings(one)


TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[ \t\r\n]+|.', re.S)


def depth(text):
    deepest = level = 0
    for token in TOKENS.findall(text):
        level += (token in "[{") - (token in "]}")
        deepest = max(deepest, level)
    return deepest


def packed(document):
    return "".join(token for token in TOKENS.findall(document.decode()) if token[0] not in " \t\r\n").encode()


# --- the comparison ---

def judge(program, documents):
    """Returns the scanner's result, place and packed value for each document."""
    sent = b"".join(struct.pack("<I", len(document)) + document for document in documents)
    done = subprocess.run(program, input=sent, capture_output=True)
    if done.returncode:
        sys.exit(f"differential: {program[0]} left with {done.returncode}: {done.stderr.decode()[-500:]}")
    place = 0
    for _ in documents:
        verdict, index, length = struct.unpack_from("<BII", done.stdout, place)
        place += 9
        yield verdict, index, done.stdout[place:place + length]
        place += length


EXPLAINED = {"constants": "expectedValue invalidNumber", "surrogates": "loneSurrogate", "depth": "tooDeep"}


def compare(document, verdict, index, pack):
    """Returns both results, or a word for why they differ, and what is wrong if nothing explains
    it."""
    try:
        value, reasons = python(document)
    except Refused as error:
        return ("refused", None) if verdict != VALUE else ("", f"only Python refuses it: {error}")
    if reasons:
        for why in reasons:
            if verdict not in (VALUE, TRAILING) and PROBLEMS[verdict - 1] in EXPLAINED[why].split():
                return why, None
        return "", f"verdict {verdict} at {index} in spite of {reasons}"
    if verdict != VALUE or index != len(document):
        return "", f"only Python takes it; the scanner says {verdict} at {index}"
    if pack != packed(document) or python(pack)[0] != value:
        return "", f"packed as {pack}"
    return "accepted", None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("judge", nargs="+")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    given = parser.parse_args()
    made = Documents(given.seed)
    outcomes, problems, wrong = collections.Counter(), collections.Counter(), 0
    for start in range(0, DOCUMENTS, BATCH):
        documents = [made.next() for _ in range(min(BATCH, DOCUMENTS - start))]
        for document, (verdict, index, pack) in zip(documents, judge(given.judge, documents)):
            word, fault = compare(document, verdict, index, pack)
            if verdict not in (VALUE, TRAILING):
                problems[PROBLEMS[verdict - 1]] += 1
            if fault is None:
                outcomes[word] += 1
            elif (wrong := wrong + 1) <= 10:
                print(f"DIFFERS {document[:300]!r}: {fault}")
    print(f"{DOCUMENTS} documents from seed {given.seed}: "
          + ", ".join(f"{count} {word}" for word, count in outcomes.most_common()) + f"; {wrong} differ")
    print("problems: " + ", ".join(f"{count} {name}" for name, count in problems.most_common()))
    if missing := [name for name in PROBLEMS if not problems[name]]:
        print(f"never seen: {', '.join(missing)}")
    sys.exit(1 if wrong or missing else 0)


if __name__ == "__main__":
    main()
