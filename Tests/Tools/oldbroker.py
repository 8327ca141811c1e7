#!/usr/bin/env python3
"""A broker that speaks MQTT 3.1.1 only: passes its connections on to another broker, and turns away
those of MQTT 5: with the return code of that version, without a word, or by silence.

    oldbroker.py PORT code|close|silence
"""

import socket
import sys
import threading


def read(link, count):
    data = b""
    while len(data) < count:
        part = link.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for link in (source, target):
        try:
            link.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(link):
    try:
        # Fixed header with a length of one byte, the protocol's name, and its level.
        head = read(link, 9)
    except (EOFError, OSError):
        return
    if head[2:8] != b"\0\4MQTT" or head[8] != 4:
        print("refused level", head[8], flush=True)
        if sys.argv[2] == "code":
            link.sendall(b"\x20\x02\x00\x01")
        if sys.argv[2] == "silence":
            while link.recv(65536):
                pass
        link.close()
        return
    print("level 4", flush=True)
    broker = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    broker.sendall(head)
    threading.Thread(target=pump, args=(broker, link), daemon=True).start()
    pump(link, broker)


listener = socket.create_server(("127.0.0.1", 0))
print("listening", listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
