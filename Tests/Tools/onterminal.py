#!/usr/bin/env python3
"""Runs a command on its own terminal, and prints what it writes there.

    onterminal.py COLUMNSxROWS [--key TEXT]... COMMAND...

Types one key for each frame that `tinypush status --watch` draws; TEXT has escapes as in Python,
such as \\x1b[B. Exits with the command's status.
"""
import fcntl
import os
import pty
import struct
import sys
import termios

FRAME_END = b"\x1b[?2026l"


def main():
    columns, rows = map(int, sys.argv[1].split("x"))
    arguments = sys.argv[2:]
    keys = []
    while arguments[0] == "--key":
        keys.append(arguments[1].encode().decode("unicode_escape").encode())
        arguments = arguments[2:]
    child, terminal = pty.fork()
    if child == 0:
        # Nothing is drawn before the program knows the size.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.execvp(arguments[0], arguments)
    said = b""
    frames = 0
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        said += piece
        sys.stdout.buffer.write(piece)
        sys.stdout.flush()
        if keys and said.count(FRAME_END) > frames:
            frames = said.count(FRAME_END)
            os.write(terminal, keys.pop(0))
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


main()
