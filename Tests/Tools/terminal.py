#!/usr/bin/env python3
"""Runs a command in its own terminal, which closes once somebody has opened PIPE and closed it
again.

  terminal.py PIPE COMMAND...

Copies the terminal's output to standard output. Exits with the command's status, or with 128 plus
the number of the signal that ended the command.
"""

import ctypes
import os
import pty
import select
import signal
import sys

PR_SET_PDEATHSIG = 1


def main():
    pipe, command = sys.argv[1], sys.argv[2:]
    child, terminal = pty.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.execvp(command[0], command)
    closing = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    poll = select.poll()
    poll.register(terminal, select.POLLIN)
    poll.register(closing, select.POLLIN)
    is_open = True
    while is_open:
        for descriptor, _ in poll.poll():
            try:
                data = os.read(descriptor, 4096)
            except OSError:
                data = b""  # no process has the terminal open any more
            if descriptor == terminal:
                os.write(1, data)
            is_open = is_open and data != b""
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
