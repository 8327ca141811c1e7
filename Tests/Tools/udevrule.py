#!/usr/bin/env python3
"""Runs the commands that a file of udev rules has for a device, as udev does.

    udevrule.py FILE KEY=VALUE...        the properties of the device and its event

Commands run without a shell: $env{KEY} is replaced, then the text is split at white space outside
of quotes. The environment contains only the properties. Of the rules' language, this supports only
what matching by == needs.
"""
import re
import shlex
import subprocess
import sys

TOKEN = re.compile(r'\s*([A-Z]+)(?:\{(\w+)\})?\s*(==|\+=)\s*"([^"]*)"\s*(?:,|$)')


def tokens(rule):
    end = 0
    while end < len(rule):
        token = TOKEN.match(rule, end)
        if not token:
            sys.exit(f"invalid rule: {rule[end:]}")
        yield token.groups()
        end = token.end()


def split(command):
    words = shlex.shlex(command, posix=True)
    words.whitespace_split, words.escape, words.commenters = True, "", ""
    return list(words)


def main(path, *words):
    properties = dict(word.split("=", 1) for word in words)
    with open(path) as file:
        rules = file.read().replace("\\\n", "").splitlines()
    for rule in filter(None, (rule.strip() for rule in rules)):
        matches, commands = True, []
        for key, attribute, operator, value in tokens(rule):
            if operator == "==" and (key == "ENV" or key in ("ACTION", "SUBSYSTEM")):
                matches &= properties.get(attribute or key, "") == value
            elif (key, operator) == ("RUN", "+="):
                commands.append(value)
            else:
                sys.exit(f"unsupported: {key}{operator}")
        for command in commands if matches else []:
            command = re.sub(r"\$env\{(\w+)\}", lambda name: properties.get(name[1], ""), command)
            if "$" in command or "%" in command:
                sys.exit(f"unsupported: {command}")
            subprocess.run(split(command), env=properties, check=True)


main(*sys.argv[1:])
