#!/usr/bin/env python3
"""Runs a command to its end, or until its Nth system call.

  traced.py [--kill-at N] COMMAND...

With --kill-at, kills the command as its Nth system call begins, and exits with 137. If the command
ends earlier, exits with its status. The last line on standard error has the peak memory in
kilobytes (VmHWM), and the number of system calls if they were counted.
"""

import argparse
import ctypes
import os
import signal
import sys

TRACEME, CONT, SYSCALL, SETOPTIONS = 0, 7, 24, 0x4200
OPTIONS = 0x40 | 0x10 | 0x01  # PTRACE_O_TRACEEXIT, PTRACE_O_TRACEEXEC, PTRACE_O_TRACESYSGOOD
EVENT_EXIT = 6

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, process, data=0):
    if libc.ptrace(request, process, None, data) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def peak(process):
    with open(f"/proc/{process}/status") as status:
        return next(line.split()[1] for line in status if line.startswith("VmHWM"))


def end(process):
    """Kills the process, which may stop once more on its way."""
    os.kill(process, signal.SIGKILL)
    while not os.WIFSIGNALED(os.waitpid(process, 0)[1]):
        try:
            ptrace(CONT, process)
        except ProcessLookupError:
            pass
    sys.exit(128 + signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kill-at", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    process = os.fork()
    if process == 0:
        ptrace(TRACEME, 0)
        os.execvp(options.command[0], options.command)
    os.waitpid(process, 0)
    ptrace(SETOPTIONS, process, OPTIONS)
    calls = 0
    is_entry = False
    passed = 0
    while True:
        ptrace(SYSCALL if options.kill_at else CONT, process, passed)
        _, status = os.waitpid(process, 0)
        passed = 0
        if os.WIFEXITED(status):
            sys.exit(os.WEXITSTATUS(status))
        if os.WIFSIGNALED(status):
            sys.exit(128 + os.WTERMSIG(status))
        if status >> 16 == EVENT_EXIT:
            print(peak(process), calls, file=sys.stderr)
        elif os.WSTOPSIG(status) == signal.SIGTRAP | 0x80:
            is_entry = not is_entry
            calls += is_entry
            if is_entry and calls == options.kill_at:
                end(process)
        elif status >> 16 == 0:
            passed = os.WSTOPSIG(status)


main()
