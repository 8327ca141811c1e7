#!/usr/bin/python3
"""An application server that sends texts to a browser (RFC 8030, 8291, 8292), for tests.

    pushsender.py --subscription JSON --key PEM --ca PEM [option...] TEXT...
    pushsender.py --subscription JSON --key PEM --write FILE [option...] TEXT

Sends each TEXT ("-": standard input) over one HTTP/2 connection, and prints a JSON line for each
answer: status, headers, body. With --write, it writes the encrypted body to FILE instead, and prints
the header authorization, for another client. --key is made if it is missing. Needs Debian's
python3-cryptography and python3-h2, hence Debian's Python.
"""
import argparse
import base64
import json
import os
import socket
import ssl
import sys
import time
import urllib.parse

try:
    import h2.connection
    import h2.events
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, utils
    from webpush import decode, seal
except ImportError:  # not Debian's Python
    if sys.executable == "/usr/bin/python3":
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def point(key):
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def encrypt(subscription, text):
    keys = subscription["keys"]
    return seal(text, decode(keys["p256dh"]), decode(keys["auth"]))


def load_key(path):
    if not os.path.exists(path):
        made = ec.generate_private_key(ec.SECP256R1())
        with open(path, "wb") as file:
            file.write(made.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                          serialization.NoEncryption()))
    with open(path, "rb") as file:
        return serialization.load_pem_private_key(file.read(), None)


def authorize(given, key, origin):
    claims = {"aud": origin, "exp": int(time.time()) + 43200, "sub": given.contact}
    said = ".".join(encode(json.dumps(part).encode()) for part in ({"typ": "JWT", "alg": "ES256"}, claims))
    r, s = utils.decode_dss_signature(key.sign(said.encode(), ec.ECDSA(hashes.SHA256())))
    signature = encode(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
    return f"vapid t={said}.{signature}, k={encode(point(key.public_key()))}"


class Client:
    """A connection that sends one request at a time."""

    def __init__(self, endpoint, ca):
        tls = ssl.create_default_context(cafile=ca)
        tls.set_alpn_protocols(["h2"])
        raw = socket.create_connection((endpoint.hostname, endpoint.port or 443))
        self.stream = tls.wrap_socket(raw, server_hostname=endpoint.hostname)
        self.connection = h2.connection.H2Connection()
        self.connection.initiate_connection()

    def ask(self, headers, body):
        stream = self.connection.get_next_available_stream_id()
        self.connection.send_headers(stream, headers)
        self.connection.send_data(stream, body, end_stream=True)
        answer = {"status": None, "headers": {}, "body": ""}
        while True:
            self.stream.sendall(self.connection.data_to_send())
            data = self.stream.recv(65536)
            if not data:
                return answer | {"end": "closed"}
            for event in self.connection.receive_data(data):
                if getattr(event, "stream_id", None) != stream:
                    continue
                if isinstance(event, h2.events.ResponseReceived):
                    fields = {name.decode(): value.decode() for name, value in event.headers}
                    answer["status"] = int(fields.pop(":status"))
                    answer["headers"] = fields
                elif isinstance(event, h2.events.DataReceived):
                    answer["body"] += event.data.decode()
                elif isinstance(event, h2.events.StreamReset):
                    return answer | {"reset": int(event.error_code)}
                elif isinstance(event, h2.events.StreamEnded):
                    self.stream.sendall(self.connection.data_to_send())
                    return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subscription", required=True, type=json.loads)
    parser.add_argument("--key", required=True, help="the PEM file of the sender's key")
    parser.add_argument("--ca", help="the PEM file of the authority")
    parser.add_argument("--write", metavar="FILE")
    parser.add_argument("--ttl", default="3600")
    parser.add_argument("--urgency", default="high")
    parser.add_argument("--topic")
    parser.add_argument("--contact", default="mailto:box@cellar.test", help="the claim sub")
    parser.add_argument("text", nargs="+")
    given = parser.parse_args()
    endpoint = urllib.parse.urlsplit(given.subscription["endpoint"])
    key = load_key(given.key)
    authorization = authorize(given, key, f"https://{endpoint.netloc}")
    texts = [sys.stdin.buffer.read() if text == "-" else text.encode() for text in given.text]
    if given.write:
        with open(given.write, "wb") as file:
            file.write(encrypt(given.subscription, texts[0]))
        print(authorization)
        return
    client = Client(endpoint, given.ca)
    for text in texts:
        headers = [(":method", "POST"), (":scheme", "https"), (":authority", endpoint.netloc),
                   (":path", endpoint.path), ("authorization", authorization), ("content-encoding", "aes128gcm"),
                   ("content-type", "application/octet-stream"), ("ttl", given.ttl), ("urgency", given.urgency)]
        if given.topic:
            headers.append(("topic", given.topic))
        print(json.dumps(client.ask(headers, encrypt(given.subscription, text))), flush=True)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"pushsender: {error}")
