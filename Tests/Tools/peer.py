"""The base of gateway.py, http2gateway.py, feedback.py and hostile.py: a TLS server on 127.0.0.1.

A server prints "listening PORT" once it is ready, and ends at SIGTERM. It requires a client certificate. DIR/events has a JSON line for each event.
"""
import argparse
import json
import os
import signal
import socket
import ssl
import stat
import struct
import sys
import threading
import time
from pathlib import Path

CONNECTIONS_MAX = 10_000
DRAIN_SECONDS = 2


class Peer:
    def __init__(self, given):
        self.given = given
        self.record = Path(given.record)
        self.record.mkdir(parents=True, exist_ok=True)
        self.events = open(self.record / "events", "a", buffering=1)
        self.lock = threading.Lock()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if given.tls:
            version = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[given.tls]
            self.tls.minimum_version = self.tls.maximum_version = version
        if given.ciphers:
            self.tls.set_ciphers(given.ciphers)
        self.tls.load_cert_chain(given.certificate, given.key)
        self.tls.load_verify_locations(given.ca)
        self.tls.verify_mode = (ssl.CERT_NONE if given.trusting else
                                ssl.CERT_OPTIONAL if given.optional else ssl.CERT_REQUIRED)
        if given.alpn:
            self.tls.set_alpn_protocols([given.alpn])

    def attend(self, number, stream):
        """Handles a connection after its handshake."""
        raise NotImplementedError

    def is_scripted(self, number):
        return not self.given.first or number <= self.given.first

    def note(self, number, event, **facts):
        with self.lock:
            self.events.write(json.dumps({"connection": number, "event": event, "at": round(time.monotonic(), 6),
                                          **facts}) + "\n")

    def serve(self, listener):
        for number in range(1, CONNECTIONS_MAX + 1):
            raw, _ = listener.accept()
            threading.Thread(target=self.connection, args=(number, raw), daemon=True).start()

    def connection(self, number, raw):
        given = self.given
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if given.hang and self.is_scripted(number):
                self.note(number, "hang")
                while raw.recv(65536):
                    pass
                return
            if given.slam and self.is_scripted(number):
                self.note(number, "slam")
                return
            with self.tls.wrap_socket(raw, server_side=True) as stream:
                subject = dict(pair for part in (stream.getpeercert() or {}).get("subject", ()) for pair in part)
                self.note(number, "open", version=stream.version(), suite=stream.cipher()[0], subject=subject,
                          alpn=stream.selected_alpn_protocol(), resumed=stream.session_reused)
                if given.leave and self.is_scripted(number):
                    self.note(number, "leave")
                    self.part(stream)
                    return
                if given.babble and self.is_scripted(number):
                    self.babble(number, stream)
                    return
                self.attend(number, stream)
        except (OSError, ValueError) as error:  # includes ssl.SSLError
            self.note(number, "broken", error=str(error))
        finally:
            raw.close()
            self.note(number, "closed")

    @staticmethod
    def stall():
        """Never returns."""
        threading.Event().wait()

    def babble(self, number, stream):
        """Sends zeros at SIGUSR1, and notes whether the peer left some unread, so that its close is
        a reset."""
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 200_000)
        signal.sigwait([signal.SIGUSR1])
        stream.sendall(bytes(self.given.babble))
        self.note(number, "babbled")
        try:
            while stream.recv(65536):
                pass
            socket.socket.recv(stream, 1)  # after its close_notify
            self.note(number, "read")
        except ConnectionResetError:
            self.note(number, "unread")

    def part(self, stream, keep=None):
        """Closes in order: sends close_notify, then reads the rest, so that no reset overtakes the
        answer."""
        end = time.monotonic() + DRAIN_SECONDS
        stream.setblocking(False)
        try:
            stream.unwrap()
            return
        except ssl.SSLWantReadError:
            pass  # close_notify is sent, and the peer's has not come yet
        except OSError:
            return
        try:
            # On the plain socket, since the TLS socket would drop its keys.
            socket.socket.shutdown(stream, socket.SHUT_WR)
            while (left := end - time.monotonic()) > 0:
                stream.settimeout(left)
                piece = stream.recv(65536)
                if not piece:
                    return
                if keep:
                    keep(piece)
        except OSError:
            pass

    @staticmethod
    def reset(stream):
        """Makes the following close a TCP reset."""
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def parser(description):
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("certificate", "key", "ca", "record"):
        made.add_argument(f"--{name}", required=True)
    made.add_argument("--port", type=int, default=0)
    made.add_argument("--tls", choices=("1.2", "1.3"), help="only this TLS version")
    made.add_argument("--ciphers", help="OpenSSL's list, for TLS 1.2")
    made.add_argument("--alpn", metavar="NAME", help="the application protocol")
    made.add_argument("--first", type=int, default=0, metavar="K", help="the script applies only to the first K connections")
    made.add_argument("--trusting", action="store_true", help="requires no client certificate")
    made.add_argument("--optional", action="store_true", help="also accepts a client without a certificate")
    made.add_argument("--hang", action="store_true", help="accepts, and never starts the handshake")
    made.add_argument("--leave", action="store_true", help="completes the handshake, and closes at once")
    made.add_argument("--babble", type=int, metavar="BYTES", help="completes the handshake, and sends so many zeros at SIGUSR1")
    made.add_argument("--slam", action="store_true", help="accepts, and closes at once")
    return made


def end_with_stdin():
    """Ends this process when its standard input is a pipe that closes: then its parent is gone."""
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)


def run(make, name, heeds_stdin=False):
    """Serves with the peer that `make()` returns, until it is told to end."""
    try:
        peer = make()
        ends = {signal.SIGTERM, signal.SIGINT}
        # Blocked in every thread, so that only this one takes the signals.
        signal.pthread_sigmask(signal.SIG_BLOCK, ends | {signal.SIGUSR1})
        listener = socket.create_server(("127.0.0.1", peer.given.port), backlog=64)
        print(f"listening {listener.getsockname()[1]}", flush=True)
        threading.Thread(target=peer.serve, args=(listener,), daemon=True).start()
        if heeds_stdin:
            threading.Thread(target=end_with_stdin, daemon=True).start()
        signal.sigwait(ends)
    except (OSError, ValueError) as error:
        sys.exit(f"{name}: {error}")
