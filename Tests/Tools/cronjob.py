#!/usr/bin/env python3
"""Runs a job from a file like those in /etc/cron.d at once, as Debian's cron does.

    cronjob.py FILE NUMBER        the jobs are counted from 1

/bin/sh runs the job as its user, in the user's home, with a PATH of /usr/bin:/bin and without a
terminal. The text after an unescaped % is its standard input. If there is a sendmail, the user sends
what the job prints to MAILTO.
"""
import os
import pwd
import re
import subprocess
import sys

FIELD = re.compile(r"(\*|\d+(-\d+)?)(/\d+)?(,(\*|\d+(-\d+)?)(/\d+)?)*$")
LIMITS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]


def read(text):
    """Returns the jobs: environment, user, command."""
    if not text.endswith("\n"):
        sys.exit("cron: missing newline before EOF")
    environment = {}
    for line in text.splitlines():
        line = line.lstrip()
        if not line or line.startswith("#"):
            continue
        setting = re.match(r"([A-Za-z_]\w*)\s*=\s*(.*?)\s*$", line)
        if setting:
            environment[setting[1]] = setting[2].strip("'\"")
            continue
        *fields, user, command = line.split(None, 6)
        for field, (least, most) in zip(fields, LIMITS, strict=True):
            numbers = map(int, re.findall(r"\d+", field))
            if not FIELD.match(field) or not all(least <= number <= most for number in numbers):
                sys.exit(f"cron: bad time: {line}")
        yield dict(environment), user, command


def main(path, number):
    with open(path) as file:
        environment, name, command = list(read(file.read()))[int(number) - 1]
    command, *lines = re.split(r"(?<!\\)%", command)
    user = pwd.getpwnam(name)
    identity = {}
    if user.pw_uid != os.getuid():
        groups = os.getgrouplist(name, user.pw_gid)
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": groups}
    home = user.pw_dir if os.access(user.pw_dir, os.X_OK) else "/"
    known = {"SHELL": "/bin/sh", "PATH": "/usr/bin:/bin", "HOME": home, "LOGNAME": name}
    sendmail = "/usr/sbin/sendmail"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} if os.path.exists(sendmail) else {}
    common = {"env": known | environment, "cwd": home, "text": True, "start_new_session": True, **identity}
    done = subprocess.run(
        ["/bin/sh", "-c", command.replace(r"\%", "%")], input="\n".join(lines).replace(r"\%", "%"), **common, **pipes)
    to = environment.get("MAILTO", name)
    if done.stdout and to:
        mail = (f"From: root (Cron Daemon)\nTo: {to}\nSubject: Cron <{name}@{os.uname().nodename}> {command}\n"
                "MIME-Version: 1.0\nContent-Type: text/plain; charset=ANSI_X3.4-1968\n"
                f"Content-Transfer-Encoding: 8bit\nX-Cron-Env: <SHELL=/bin/sh>\n\n{done.stdout}")
        subprocess.run(
            [sendmail, "-FCronDaemon", "-i", "-B8BITMIME", "-oem", to], input=mail, check=True, **common)
    sys.exit(done.returncode)


main(*sys.argv[1:])
