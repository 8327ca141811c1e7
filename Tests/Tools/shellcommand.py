#!/usr/bin/python3
"""Runs a command of Home Assistant's shell_command, as Home Assistant does.

    shellcommand.py FILE NAME KEY=VALUE...        the data that the action is called with

The text after the program's name is a template. If rendering changes nothing, a shell runs the
command. Otherwise the command is split as a shell does, and runs without one.
"""
import shlex
import subprocess
import sys

import jinja2.sandbox
import yaml


def main(path, name, *words):
    with open(path) as file:
        command = yaml.safe_load(file)["shell_command"][name]
    program, arguments = command.split(" ", 1)
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment()
    data = dict(word.split("=", 1) for word in words)
    rendered = environment.from_string(arguments.strip()).render(data)
    if rendered == arguments:
        done = subprocess.run(command, shell=True)
    else:
        done = subprocess.run([program, *shlex.split(rendered)])
    sys.exit(done.returncode)


main(*sys.argv[1:])
