#!/usr/bin/env python3
"""A feedback service for tests that misbehaves as it is told.

    feedback.py --certificate PEM --key PEM --ca PEM --record DIR [--tuples N --seed S | --file FILE | --endless] [script]

Prints "listening PORT" once it is ready. Listens only on 127.0.0.1, requires a client certificate,
and ends at SIGTERM. DIR/N.sent has the bytes sent on connection N; of an endless
list, only the event has their number. DIR/events has a JSON line for each event. "taken" is noted
once the peer's program has read everything from its socket. A reset comes after that, so it
discards nothing.

Reading clears the list: a tuple that was sent completely is not sent again on any connection; one
that was cut is.
"""
import fcntl
import random
import socket
import struct
import sys
import termios
import time

import peer
import tuples

PIECE_BYTES = 65_536
TAKEN_SECONDS = 60


class Feedback(peer.Peer):
    def __init__(self, given):
        super().__init__(given)
        self.list = self.read(given.file) if given.file else tuples.tuples(given.seed, given.tuples)

    @staticmethod
    def read(path):
        """Reads lines of "TIMESTAMP TOKENHEX"; the token has any length, and may be missing."""
        made = b""
        for line in open(path):
            when, _, digits = line.strip().partition(" ")
            token = bytes.fromhex(digits)
            made += struct.pack(">IH", int(when), len(token)) + token
        return made

    def attend(self, number, stream):
        given, scripted = self.given, self.is_scripted(number)
        if given.endless:
            return self.tell_on(number, stream)
        share = self.take_share()
        said = 0
        try:
            words = share if given.stop_after is None or not scripted else share[:given.stop_after]
            with open(self.record / f"{number}.sent", "wb", buffering=0) as record:
                for piece in self.pieces(words):
                    record.write(piece)  # before the peer can read it
                    stream.sendall(piece)
                    said += len(piece)
                    if given.pause and scripted:
                        time.sleep(given.pause)
        finally:
            self.give_back(share, said)
            self.note(number, "sent", bytes=said)
        end = given.end if scripted else "close"
        if end == "close":
            return self.say_goodbye(stream)
        self.await_taken(stream)
        self.note(number, "taken", bytes=said)
        if end == "reset":
            self.reset(stream)
        else:
            if end == "fin":
                socket.socket.shutdown(stream, socket.SHUT_WR)  # without close_notify
            while stream.recv(65536):
                pass

    def tell_on(self, number, stream):
        said = 0
        try:
            index = 0
            while True:
                block = tuples.block(self.given.seed, index)
                index += 1
                for at in range(0, len(block), PIECE_BYTES):
                    stream.sendall(block[at:at + PIECE_BYTES])
                    said += len(block[at:at + PIECE_BYTES])
        finally:
            self.note(number, "sent", bytes=said)

    @staticmethod
    def say_goodbye(stream):
        """Sends close_notify and waits until the peer has sent its own, or is gone."""
        try:
            stream.unwrap()
        except OSError:
            pass

    # --- the list ---

    def take_share(self):
        with self.lock:
            size = len(self.list)
            if self.given.share is not None:
                size = min(size, self.given.share * tuples.TUPLE_BYTES)
            share, self.list = self.list[:size], self.list[size:]
            return share

    def give_back(self, share, said):
        """Removes the tuples that were sent completely."""
        if self.given.keep:
            whole = 0
        elif said == len(share):
            return
        else:
            whole = max((end for end in tuples.ends(share) if end <= said), default=0)
        with self.lock:
            self.list = share[whole:] + self.list

    def pieces(self, words):
        """Yields the contents of each record."""
        cut = self.given.cut
        if cut == "tuple":
            start = 0
            for end in tuples.ends(words):
                yield words[start:end]
                start = end
            if start < len(words):
                yield words[start:]
        elif cut == "random":
            chance, at = random.Random(self.given.seed), 0
            while at < len(words):
                size = chance.randint(1, chance.choice((3, 80, 1000, 16384)))
                yield words[at:at + size]
                at += size
        else:
            size = {"byte": 1, "none": PIECE_BYTES}[cut]
            for at in range(0, len(words), size):
                yield words[at:at + size]

    # --- the peer's end ---

    def await_taken(self, stream):
        """Waits until the peer's program has read everything from its socket, or the peer is
        gone."""
        end = time.monotonic() + TAKEN_SECONDS
        while time.monotonic() < end:
            unacknowledged, = struct.unpack("i", fcntl.ioctl(stream, termios.TIOCOUTQ, bytes(4)))
            if unacknowledged == 0 and not self.unread(stream):
                return
            time.sleep(0.001)
        raise ValueError(f"the peer did not read everything in {TAKEN_SECONDS} s")

    @staticmethod
    def unread(stream):
        """Returns the bytes that the kernel holds for the peer's program, on this machine."""
        def place(address):
            return f"{struct.unpack('=I', socket.inet_aton(address[0]))[0]:08X}:{address[1]:04X}"

        ends = [place(stream.getpeername()), place(stream.getsockname())]
        for line in open("/proc/net/tcp"):
            words = line.split()
            if words[1:3] == ends:
                return int(words[4].split(":")[1], 16)
        return 0


def arguments():
    parser = peer.parser(__doc__)
    what = parser.add_argument_group("what it says")
    what.add_argument("--tuples", type=int, default=0, metavar="N")
    what.add_argument("--seed", type=int, default=1)
    what.add_argument("--file", help='a file with lines of "TIMESTAMP TOKENHEX", the token of any length')
    what.add_argument("--endless", action="store_true", help="the seed's list, which never ends")
    what.add_argument("--share", type=int, metavar="N", help="the most tuples on each connection")
    what.add_argument("--keep", action="store_true", help="reading does not clear the list")
    script = parser.add_argument_group("script")
    script.add_argument("--cut", choices=("none", "byte", "tuple", "random"), default="none",
                        help="the contents of a TLS record: as much as fits, a byte, a tuple, or random sizes")
    script.add_argument("--pause", type=float, default=0, metavar="SECONDS", help="the pause after each record")
    script.add_argument("--stop-after", type=int, metavar="BYTES", help="sends no more than this")
    script.add_argument("--end", choices=("close", "fin", "reset", "silence"), default="close",
                        help="with close_notify, without it, by a TCP reset, or not at all")
    return parser.parse_args()


if __name__ == "__main__":
    peer.run(lambda: Feedback(arguments()), "feedback")
