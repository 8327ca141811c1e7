"""A stand-in for Mozilla's push service: the end of it to which Firefox connects.

Firefox opens a WebSocket, says hello, and registers a channel for each subscription. What the service
delivers goes back on that WebSocket.
"""
import base64
import hashlib
import json
import queue
import socket
import threading
import uuid

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class PushService:
    """Serves browsers on 127.0.0.1; `endpoint` is the beginning of the addresses that it gives out."""

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.channels = {}
        self.acknowledged = queue.Queue()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"ws://127.0.0.1:{self.listener.getsockname()[1]}/"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

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
