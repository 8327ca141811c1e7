#!/usr/bin/env python3
"""A TCP proxy on this machine that simulates a long distance: it delays everything by half a round
trip.

    proxy.py --to PORT [--port N] [--round-trip 100ms]

Prints "listening PORT" once it is ready. Listens only on 127.0.0.1 and connects to nothing else.
Ends at SIGTERM.

Bytes keep their order and their distance in time. The end of a direction is delayed like bytes: a
FIN comes after them as a FIN, so the other direction stays open; a reset comes as a reset, which
discards the bytes on their way in the other direction. At most 1 MB is on the way; then the sender
waits, as for a receiver with a full window.

The kernel acknowledges bytes when the proxy takes them, not when they arrive. So an acknowledgement
proves no delivery, as on a real network.
"""
import argparse
import collections
import re
import selectors
import signal
import socket
import struct
import sys
import time

PIECE = 65536
CONNECTIONS_MAX = 64
HELD_MAX = 1 << 20  # bytes on the way in one direction
FIN = "fin"


class Way:
    """One direction: from the socket that is read to the socket that is written."""

    def __init__(self, source, target, delay):
        self.source, self.target, self.delay = source, target, delay
        self.queue = collections.deque()  # (due, bytes or the source's end)
        self.held = 0
        self.has_ended = self.is_done = False

    @property
    def wants_read(self):
        return not self.has_ended and self.held < HELD_MAX

    @property
    def due(self):
        return self.queue[0][0] if self.queue else None

    def take(self, now):
        """Reads what there is room for; raises ConnectionError if the source was reset."""
        while self.wants_read:
            try:
                piece = self.source.recv(PIECE)
            except BlockingIOError:
                return
            self.queue.append((now + self.delay, piece or FIN))
            self.held += len(piece)
            self.has_ended = not piece

    def give(self, now):
        """Writes what is due, as far as the target takes it. Returns whether it waits for the
        target."""
        while self.queue and self.due <= now:
            due, piece = self.queue[0]
            try:
                if piece is FIN:
                    self.is_done = True
                    self.queue.popleft()
                    self.target.shutdown(socket.SHUT_WR)
                    return False
                count = self.target.send(piece)
            except BlockingIOError:
                return True
            except OSError:
                self.queue.clear()
                raise
            self.held -= count
            if count < len(piece):
                self.queue[0] = due, piece[count:]
            else:
                self.queue.popleft()
        return False


class Connection:
    def __init__(self, near, far, given):
        self.sockets = near, far
        self.ways = [Way(*ends, given.round_trip / 2) for ends in ((near, far), (far, near))]
        self.delay = given.round_trip / 2
        self.reset_due = None
        self.interest = {}

    def turn(self, now, selector):
        """Does everything that is possible now. Returns when it must be called again, or None."""
        waits = [False, False]
        for at, way in enumerate(self.ways):
            try:
                way.take(now)
                waits[at] = way.give(now)
                way.take(now)
            except OSError:  # one side was reset: the other side is reset after the delay
                if self.reset_due is None:
                    self.reset_due = now + self.delay
                way.has_ended = True
        if self.reset_due is not None and now >= self.reset_due:
            return self.close(selector, reset=True)
        if all(way.is_done for way in self.ways):
            return self.close(selector)
        self.watch(selector, waits)
        dues = [way.due for way, waiting in zip(self.ways, waits) if way.due is not None and not waiting]
        return min(dues + [self.reset_due] if self.reset_due is not None else dues, default=None)

    def watch(self, selector, waits):
        for at, end in enumerate(self.sockets):
            wanted = 0
            if self.ways[at].wants_read and self.reset_due is None:
                wanted |= selectors.EVENT_READ
            if waits[1 - at] and self.reset_due is None:
                wanted |= selectors.EVENT_WRITE
            known = self.interest.get(at, 0)
            if wanted and not known:
                selector.register(end, wanted, self)
            elif known and not wanted:
                selector.unregister(end)
            elif wanted != known:
                selector.modify(end, wanted, self)
            self.interest[at] = wanted

    def close(self, selector, reset=False):
        for at, end in enumerate(self.sockets):
            if self.interest.get(at):
                selector.unregister(end)
            if reset:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()
        self.sockets = None


class Proxy:
    def __init__(self, given):
        self.given = given
        self.selector = selectors.DefaultSelector()
        self.listener = socket.create_server(("127.0.0.1", given.port), backlog=64)
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.connections = {}  # connection -> when to call it again

    def run(self):
        print(f"listening {self.listener.getsockname()[1]}", flush=True)
        while True:
            due = min((when for when in self.connections.values() if when is not None), default=None)
            wait = None if due is None else max(0, due - time.monotonic())
            ready = {key.data for key, _ in self.selector.select(wait)}
            now = time.monotonic()
            if None in ready:
                self.accept()
            for connection, when in list(self.connections.items()):
                if connection in ready or when is not None and when <= now:
                    self.connections[connection] = connection.turn(now, self.selector)
                if connection.sockets is None:
                    del self.connections[connection]

    def accept(self):
        near, _ = self.listener.accept()
        far = socket.socket()
        try:
            if len(self.connections) == CONNECTIONS_MAX:
                raise ConnectionError
            far.connect(("127.0.0.1", self.given.to))
        except ConnectionError:  # nobody listens there
            near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            near.close()
            far.close()
            return
        for end in near, far:
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(near, far, self.given)
        self.connections[connection] = time.monotonic()


def duration(text):
    found = re.fullmatch(r"(\d+)(ms|s)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"a time such as 100ms or 1s, not {text}")
    return int(found[1]) / (1000 if found[2] == "ms" else 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=int, required=True, metavar="PORT", help="on 127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--round-trip", type=duration, default=0.1, metavar="TIME", help="the round trip (100ms)")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    Proxy(given).run()


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"proxy: {error}")
