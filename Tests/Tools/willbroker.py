#!/usr/bin/python3
"""An MQTT 5 broker that does not authorize clients with a will, and accepts all others.

It prints "listening PORT", and answers one client at a time. It keeps no messages, and answers a
subscription to alerts/# with a message as well. With --closes, it authorizes a will, but ends the
connection if a client publishes.
"""
import socket
import sys


def packet(client):
    """Returns the first byte and the body of the next packet; None at the end."""
    head = client.recv(1)
    if not head:
        return None
    length = shift = 0
    while True:
        byte = client.recv(1)[0]
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    body = b""
    while len(body) < length:
        body += client.recv(length - len(body))
    return head[0], body


def serve(client):
    while found := packet(client):
        kind, body = found[0] >> 4, found[1]
        if kind == 1:
            # The protocol's name and version come before the flags.
            has_will = body[7] & 4 and "--closes" not in sys.argv
            client.sendall(b"\x20\x03\x00\x87\x00" if has_will else b"\x20\x03\x00\x00\x00")
        elif kind == 3:
            if "--closes" in sys.argv:
                return
            size = int.from_bytes(body[:2], "big")
            client.sendall(b"\x40\x02" + body[2 + size:4 + size])
        elif kind == 8:
            client.sendall(b"\x90\x04" + body[:2] + b"\x00\x00")
            if b"alerts/#" in body:
                client.sendall(b"\x30\x0e\x00\x08alerts/1\x00wet")
        elif kind == 12:
            client.sendall(b"\xd0\x00")


with socket.create_server(("127.0.0.1", 0)) as server:
    print("listening", server.getsockname()[1], flush=True)
    while True:
        with server.accept()[0] as client:
            serve(client)
