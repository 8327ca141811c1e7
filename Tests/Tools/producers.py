#!/usr/bin/env python3
"""producers.py SPOOL [--only NAME]... [--start N] [--each N] [--pause SECONDS]

Acts like programs that put notifications into SPOOL/new, each in its own way. The notifications'
tokens count from N. At the end, prints a line of JSON with the number of notifications.
"""
import argparse
import contextlib
import itertools
import json
import os
import subprocess
import tempfile
import threading
import time


class Producers:
    def __init__(self, spool, start, each, pause):
        self.new = os.path.join(spool, "new")
        self.numbers = itertools.count(start)
        self.lock = threading.Lock()
        self.each = each
        self.pause = pause
        self.home = tempfile.mkdtemp(prefix="producers.")
        self.made = 0

    def line(self):
        with self.lock:
            number = next(self.numbers)
            self.made += 1
        token = f"{number:064x}"
        return json.dumps({"token": token, "payload": {"aps": {"alert": f"Tank {number}"}}, "expiration": 4000000000}) + "\n"

    def draft(self, name, lines=1):
        path = os.path.join(self.home, name)
        with open(path, "w", encoding="ascii") as file:
            for _ in range(lines):
                file.write(self.line())
        os.chmod(path, 0o644)
        return path

    def run(self, *words, may_miss=None):
        """Runs a program. It may exit with the status `may_miss` if a file is delivered, and so gone,
        before the program sets the file's mode or times."""
        ended = subprocess.run(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"})
        is_gone = ended.returncode == may_miss and "No such file or directory" in ended.stderr
        if ended.returncode and not is_gone:
            raise RuntimeError(f"{words} ended with {ended.returncode}: {ended.stderr}")

    def touch(self, change, path, *values):
        """Changes a file, unless it has been delivered and removed."""
        with contextlib.suppress(FileNotFoundError):
            change(path, *values)

    def names(self, kind):
        return (f"{kind}-{index}" for index in range(self.each))

    # --- files that appear complete ---

    def mv_then_chmod(self):
        for name in self.names("mv"):
            self.run("mv", self.draft(name), f"{self.new}/{name}")
            self.touch(os.chmod, f"{self.new}/{name}", 0o664)

    def cp_then_chmod(self):
        for name in self.names("cp"):
            self.run("cp", self.draft(name), f"{self.new}/{name}")
            self.touch(os.chmod, f"{self.new}/{name}", 0o664)

    def install(self):
        for name in self.names("install"):
            self.run("install", "-m", "644", self.draft(name), f"{self.new}/{name}", may_miss=1)

    def safecat(self):
        for name in self.names("safecat"):
            path = f"{self.new}/../tmp/{name}"
            self.run("cp", self.draft(name), path)
            os.link(path, f"{self.new}/{name}")
            os.unlink(path)

    def tar(self):
        names = list(self.names("tar"))
        for name in names:
            self.draft(name, lines=3)
        archive = os.path.join(self.home, "archive.tar")
        self.run("tar", "-cf", archive, "-C", self.home, *names)
        self.run("tar", "-xf", archive, "-C", self.new)

    def rsync(self, kind, *options):
        source = os.path.join(self.home, kind)
        os.mkdir(source)
        for name in self.names(kind):
            os.rename(self.draft(name), f"{source}/{name}")
            os.utime(f"{source}/{name}", (1e9, 1e9))
        self.run("rsync", *options, f"{source}/", f"{self.new}/", may_miss=23)

    def rsync_plain(self):
        self.rsync("rsync-r", "-r")

    def rsync_archive(self):
        self.rsync("rsync-t", "-rtO")

    def rsync_in_place(self):
        self.rsync("rsync-i", "-rtO", "--inplace")

    def rsync_in_place_without_times(self):
        self.rsync("rsync-n", "-r", "--inplace")

    def curl_with_times(self):
        for name in self.names("curl"):
            path = self.draft(name)
            os.utime(path, (1e9, 1e9))
            self.run("curl", "-s", "-R", "-o", f"{self.new}/{name}", f"file://{path}")

    def utime_afterwards(self):
        for name in self.names("utime"):
            with open(f"{self.new}/{name}", "w", encoding="ascii") as file:
                file.write(self.line())
            self.touch(os.utime, f"{self.new}/{name}", (1e9, 1e9))

    # --- files that are renamed into place ---

    def renamed_within(self):
        for name in self.names("renamed"):
            with open(f"{self.new}/{name}.a8f3", "w", encoding="ascii") as file:
                file.write(self.line())
            time.sleep(self.pause / 10)
            self.touch(os.rename, f"{self.new}/{name}.a8f3", f"{self.new}/{name}")

    def filepart(self):
        for name in self.names("winscp"):
            with open(f"{self.new}/{name}.filepart", "w", encoding="ascii") as file:
                file.write(self.line())
            time.sleep(self.pause / 10)
            self.touch(os.rename, f"{self.new}/{name}.filepart", f"{self.new}/{name}")
            self.touch(os.utime, f"{self.new}/{name}", (1e9, 1e9))

    # --- files that are written bit by bit ---

    def append_file(self):
        script = """
          const fs = require('fs');
          const [path, pause, ...lines] = process.argv.slice(1);
          const next = () => {
            const line = lines.shift();
            if (line === undefined) return;
            fs.appendFile(path, line, (error) => { if (error) throw error; setTimeout(next, Number(pause)); });
          };
          next();
        """
        lines = [self.line() for _ in range(4 * self.each)]
        self.run("node", "-e", script, "--", f"{self.new}/node", str(self.pause * 100), *lines)

    def shell_append(self):
        for _ in range(4 * self.each):
            self.run("sh", "-c", 'printf %s "$2" >>"$1"', "sh", f"{self.new}/appended", self.line())
            time.sleep(self.pause / 4)

    def shell_append_by_several(self):
        def one():
            for _ in range(self.each):
                self.run("sh", "-c", 'printf %s "$2" >>"$1"', "sh", f"{self.new}/shared", self.line())
                time.sleep(self.pause / 3)

        threads = [threading.Thread(target=one) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def held_open(self):
        script = 'exec 3>>"$1"; pause=$2; shift 2; for line; do printf %s "$line" >&3; sleep "$pause"; done'
        lines = [self.line() for _ in range(self.each)]
        self.run("sh", "-c", script, "sh", f"{self.new}/held", str(self.pause), *lines)

    def mktemp(self):
        script = 'f=$(mktemp -p "$1"); chmod 644 "$f"; (sleep "$2"; printf %s "$3") >"$f"'
        for _ in range(2):
            self.run("sh", "-c", script, "sh", self.new, str(self.pause * 3), self.line())

    def slow_job(self):
        script = '(printf %s "$2"; sleep "$3"; printf %s "$4") >"$1"'
        for name in itertools.islice(self.names("slow"), 2):
            self.run("sh", "-c", script, "sh", f"{self.new}/{name}", self.line(), str(self.pause * 3), self.line())

    def slow_pipe(self):
        line = self.line()
        script = '(printf %s "$2"; sleep "$4"; printf %s "$3") | cat >"$1"'
        self.run("sh", "-c", script, "sh", f"{self.new}/pipe", line[:40], line[40:], str(self.pause * 3))


KINDS = [
    "mv_then_chmod", "cp_then_chmod", "install", "safecat", "tar", "rsync_plain", "rsync_archive", "rsync_in_place",
    "rsync_in_place_without_times", "curl_with_times", "utime_afterwards", "renamed_within", "filepart", "append_file",
    "shell_append", "shell_append_by_several", "held_open", "mktemp", "slow_job", "slow_pipe",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spool")
    parser.add_argument("--only", action="append", choices=KINDS)
    parser.add_argument("--start", type=int, default=1)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--pause", type=float, default=0.4)
    given = parser.parse_args()
    os.umask(0o022)
    producers = Producers(given.spool, given.start, given.each, given.pause)
    failures = []

    def play(kind):
        try:
            getattr(producers, kind)()
        except Exception as error:
            failures.append(f"{kind}: {error!r}")

    threads = [threading.Thread(target=play, args=[kind]) for kind in given.only or KINDS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    subprocess.run(["rm", "-r", producers.home], check=True)
    print(json.dumps({"made": producers.made, "failures": failures}))
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
