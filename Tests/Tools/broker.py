"""Starts Mosquitto, publishes messages, and ends what it started."""
import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from port import Port

WAIT_SECONDS = 300
# The settings with which Mosquitto keeps all messages for a client that is away.
KEEPING = "persistence true", "max_queued_messages 0"
LOGGED = "error", "warning", "notice", "information", "subscribe"


class Failed(Exception):
    pass


started = {}  # pid -> Popen


def start(words, log, **options):
    process = subprocess.Popen([str(word) for word in words], stderr=log,
                               **{"stdin": subprocess.DEVNULL, "stdout": log, **options})
    started[process.pid] = process
    return process


def end(process, how=signal.SIGTERM):
    if process.poll() is None:
        process.send_signal(how)
        try:
            process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Failed(f"{process.args[:2]} did not end")
    started.pop(process.pid, None)


@atexit.register
def end_all():
    for process in list(started.values()):
        end(process, signal.SIGKILL)


def until(condition, what):
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(f"timeout: {what}")
        time.sleep(0.005)


class Broker:
    """Mosquitto, which can end and start again at the same port."""

    def __init__(self, home, *settings):
        self.place = Port()
        self.port = self.place.number
        self.directory = Path(tempfile.mkdtemp(prefix="broker-", dir=home))
        self.log = self.directory / "log"
        config = [f"listener {self.port} 127.0.0.1", "allow_anonymous true", f"persistence_location {self.directory}/",
                  "user root", *(f"log_type {one}" for one in LOGGED), *settings]
        (self.directory / "mosquitto.conf").write_text("\n".join(config) + "\n")
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = start([shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin"), "-c",
                                  self.directory / "mosquitto.conf"], log)

        def answers():
            if self.process.poll() is not None:
                raise Failed(f"mosquitto ended: {self.log.read_text()[-600:]}")
            return self.place.is_open()
        until(answers, "the broker")

    def publish(self, texts):
        """Publishes messages with QoS 1, and waits until the broker has them all."""
        # mosquitto_pub ends early when more messages wait than there are packet identifiers.
        texts = list(texts)
        for begin in range(0, len(texts), 50_000):
            publisher = Publisher(self)
            publisher.publish(texts[begin:begin + 50_000])
            publisher.finish()

    def subscribes(self, name, topics, connect):
        """Calls `connect`, and waits until the broker has taken a client's subscription: a new session
        gets no message from before that. Returns what `connect` returns."""
        def count():
            return self.log.read_text().count(f": {name} 1 {topics}\n")

        before = count()
        result = connect()
        until(lambda: count() > before, f"the subscription of {name}")
        return result

    def sleeper(self, name, topics, seconds):
        """Returns a client with a subscription that reads no message. Its session ends some seconds
        after the client."""
        words = ["mosquitto_sub", "-V", "5", "-p", self.port, "-i", name, "-x", seconds, "-c", "-q", "1", "-t", topics,
                 "-k", 65535]
        process = self.subscribes(name, topics, lambda: start(words, subprocess.DEVNULL))
        process.send_signal(signal.SIGSTOP)
        return process


class Publisher:
    def __init__(self, broker):
        self.log = open(broker.directory / "publisher", "w+b")
        self.process = start(["mosquitto_pub", "-h", "127.0.0.1", "-p", broker.port, "-V", "5", "-q", "1", "-t",
                              "alerts/tank/leak", "-l"], self.log, stdin=subprocess.PIPE)

    def publish(self, texts):
        self.process.stdin.write("".join(f"{text}\n" for text in texts).encode())
        self.process.stdin.flush()

    def finish(self):
        self.process.stdin.close()
        if self.process.wait():
            self.log.seek(0)
            raise Failed(f"mosquitto_pub: {self.log.read().decode()}")
        started.pop(self.process.pid, None)
        self.log.close()
