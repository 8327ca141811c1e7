#!/usr/bin/python3
"""An HTTP/2 provider that sends what it is told, to check the sandbox.

    http2client.py --port N --ca PEM [--certificate PEM --key PEM] [--token JWT] [--count N] [--streams N] [--ping N]

Sends --count notifications whose device tokens are the numbers from 1 on, --streams of them at a
time, within the server's limit. Prints a JSON line for each one: number and status. The last line
has answered, and end: "done", "closed" or an error. Needs Debian's python3-h2, hence Debian's
Python.
"""
import argparse
import json
import os
import socket
import ssl
import sys
import time

try:
    import h2.config
    import h2.connection
    import h2.events
    import h2.exceptions
except ImportError:  # not Debian's Python
    if sys.executable == "/usr/bin/python3":
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])


class Client:
    def __init__(self, given):
        self.given = given
        tls = ssl.create_default_context(cafile=given.ca)
        tls.set_alpn_protocols(["h2"])
        if given.certificate:
            tls.load_cert_chain(given.certificate, given.key)
        raw = socket.create_connection(("127.0.0.1", given.port))
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = tls.wrap_socket(raw, server_hostname="localhost")
        self.connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="latin-1"))
        self.connection.initiate_connection()
        self.numbers = iter(range(1, given.count + 1))
        self.next = next(self.numbers, None)
        self.asked = {}  # stream -> its answer so far
        self.answered = self.pongs = 0
        self.allowed = 1  # until the server's settings come
        self.has_left = False

    def headers(self, number):
        given = self.given
        headers = {":method": "POST", ":scheme": "https", ":authority": "localhost", ":path": f"/3/device/{number:064x}",
                   "apns-topic": "com.example.tinypush", "apns-push-type": "alert", "apns-priority": "10",
                   "apns-expiration": str(int(time.time()) + 3600)}
        if given.token:
            headers["authorization"] = f"bearer {given.token}"
        return list(headers.items())

    def ask(self):
        connection = self.connection
        payload = b'{"aps":{"alert":"Tank low"}}'
        while not self.has_left and len(self.asked) < min(self.given.streams, self.allowed):
            if self.next is None:
                return
            room = min(connection.outbound_flow_control_window, connection.remote_settings.initial_window_size)
            if room < len(payload):
                return
            stream = connection.get_next_available_stream_id()
            connection.send_headers(stream, self.headers(self.next))
            connection.send_data(stream, payload, end_stream=True)
            self.asked[stream] = {"number": self.next}
            self.next = next(self.numbers, None)

    def hear(self, event):
        stream = getattr(event, "stream_id", None)
        known = self.asked.get(stream, {})
        if isinstance(event, h2.events.RemoteSettingsChanged):
            self.allowed = self.connection.remote_settings.max_concurrent_streams
        elif isinstance(event, h2.events.ResponseReceived):
            known["status"] = int(dict(event.headers)[":status"])
        elif isinstance(event, h2.events.DataReceived):
            self.connection.acknowledge_received_data(event.flow_controlled_length, stream)
        elif isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset)):
            self.answered += "status" in known
            if self.asked.pop(stream, None):
                print(json.dumps(known))
        elif isinstance(event, h2.events.PingAckReceived):
            self.pongs += 1
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.has_left = True

    def run(self):
        """Sends everything. Returns how the connection ended."""
        for at in range(self.given.ping):
            self.connection.ping(at.to_bytes(8, "big"))
        while True:
            self.ask()
            self.stream.sendall(self.connection.data_to_send())
            if not self.asked and (self.has_left or self.next is None) and self.pongs >= self.given.ping:
                return "done"
            piece = self.stream.recv(65536)
            if not piece:
                return "closed"
            for event in self.connection.receive_data(piece):
                self.hear(event)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    parser.add_argument("--token", metavar="JWT", help="the provider token")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--ping", type=int, default=0, metavar="N", help="sends N PING frames and awaits the acknowledgements")
    given = parser.parse_args()
    client = Client(given)
    try:
        end = client.run()
    except (OSError, h2.exceptions.ProtocolError) as error:
        end = f"{type(error).__name__}: {error}"
    print(json.dumps({"answered": client.answered, "end": end}))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"http2client: {error}")
