"""A stand-in for Mozilla's push service.

Firefox opens a WebSocket, says hello, and registers a channel for each subscription. What somebody posts
to the address of a subscription over HTTP/2 goes back on that WebSocket. Needs Debian's python3-h2, hence
Debian's Python.
"""
import base64
import hashlib
import json
import queue
import socket
import ssl
import threading
import uuid

import h2.config
import h2.connection
import h2.events

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class PushService:
    """Serves browsers and senders on 127.0.0.1, with a certificate for localhost."""

    def __init__(self, certificate, key):
        self.channels = {}
        self.acknowledged = queue.Queue()
        self.requests = queue.Queue()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.context.set_alpn_protocols(["h2"])
        self.address = f"ws://127.0.0.1:{self.listen(self.serve)}/"
        self.endpoint = f"https://localhost:{self.listen(self.take)}/wpush/v2/"

    @staticmethod
    def listen(serve):
        """Calls a function with each connection; returns the port."""
        listener = socket.create_server(("127.0.0.1", 0))

        def accept():
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return listener.getsockname()[1]

    # The browser's end.

    def serve(self, connection):
        stream = connection.makefile("rb")
        headers = {}
        while (line := stream.readline().strip()):
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        accepted = base64.b64encode(hashlib.sha1(headers[b"sec-websocket-key"] + GUID).digest())
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           b"Sec-WebSocket-Accept: " + accepted + b"\r\nSec-WebSocket-Protocol: push-notification\r\n\r\n")
        while (text := self.receive(stream)) is not None:
            if (answer := self.answer(json.loads(text), connection)) is not None:
                self.send(connection, answer)

    @staticmethod
    def receive(stream):
        """Returns the text of the next frame; None: the browser has gone."""
        while len(head := stream.read(2)) == 2:
            length = head[1] & 0x7F
            if length > 125:
                length = int.from_bytes(stream.read(2 if length == 126 else 8), "big")
            mask = stream.read(4)
            text = bytes(byte ^ mask[index % 4] for index, byte in enumerate(stream.read(length)))
            if head[0] & 0x0F == 1:
                return text
            if head[0] & 0x0F == 8:
                break
        return None

    @staticmethod
    def send(connection, message):
        text = json.dumps(message).encode()
        size = bytes([len(text)]) if len(text) < 126 else b"\x7e" + len(text).to_bytes(2, "big")
        connection.sendall(b"\x81" + size + text)

    def answer(self, message, connection):
        kind = message.get("messageType")
        if kind is None:
            return {}
        if kind == "hello":
            return {"messageType": kind, "status": 200, "uaid": uuid.uuid4().hex, "use_webpush": True}
        if kind == "register":
            channel = message["channelID"]
            self.channels[channel] = connection
            return {"messageType": kind, "status": 200, "channelID": channel, "pushEndpoint": self.endpoint + channel}
        if kind == "unregister":
            self.channels.pop(message["channelID"], None)
            return {"messageType": kind, "status": 200, "channelID": message["channelID"]}
        if kind == "ack":
            for update in message["updates"]:
                self.acknowledged.put((update["channelID"], update["code"]))
        return None

    def deliver(self, channel, body):
        """Brings an encrypted body to the browser."""
        self.send(self.channels[channel], {
            "messageType": "notification", "channelID": channel, "version": uuid.uuid4().hex,
            "data": base64.urlsafe_b64encode(body).rstrip(b"=").decode(), "headers": {"encoding": "aes128gcm"}})

    # The sender's end.

    def take(self, connection):
        connection = self.context.wrap_socket(connection, server_side=True)
        session = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        session.initiate_connection()
        connection.sendall(session.data_to_send())
        requests = {}
        while data := connection.recv(1 << 16):
            for event in session.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    requests[event.stream_id] = dict(event.headers), bytearray()
                elif isinstance(event, h2.events.DataReceived):
                    requests[event.stream_id][1].extend(event.data)
                    session.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    headers, body = requests.pop(event.stream_id)
                    self.requests.put(headers)
                    channel = headers[":path"].rpartition("/")[2]
                    self.deliver(channel, bytes(body))
                    session.send_headers(event.stream_id, [(":status", "201"), ("location", "/m/" + channel)],
                                         end_stream=True)
            connection.sendall(session.data_to_send())
