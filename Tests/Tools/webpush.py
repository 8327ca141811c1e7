#!/usr/bin/python3
"""Encrypts and decrypts texts of Web Push (RFC 8291), independently of the product.

    webpush.py seal --point POINT --auth AUTH [--padding N] [--delimiter N] <TEXT >BODY
    webpush.py open --key PRIVATE --auth AUTH <BODY >TEXT

Keys are in base64url. Needs Debian's python3-cryptography, hence Debian's Python.
"""
import argparse
import base64
import os
import sys

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

CURVE = ec.SECP256R1()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def derive(salt, key, info, count):
    return HKDF(hashes.SHA256(), count, salt, info).derive(key)


def point_of(private):
    return private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def record_key(private, other, browser, sender, auth, salt):
    """Returns the key and the nonce of the only record."""
    shared = private.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(CURVE, other))
    content = derive(auth, shared, b"WebPush: info\0" + browser + sender, 32)
    return (derive(salt, content, b"Content-Encoding: aes128gcm\0", 16),
            derive(salt, content, b"Content-Encoding: nonce\0", 12))


def seal(text, browser, auth, padding=0, delimiter=2):
    private = ec.generate_private_key(CURVE)
    sender, salt = point_of(private), os.urandom(16)
    key, nonce = record_key(private, browser, browser, sender, auth, salt)
    record = AESGCM(key).encrypt(nonce, text + bytes([delimiter]) + bytes(padding), None)
    return salt + (4096).to_bytes(4, "big") + bytes([len(sender)]) + sender + record


def open_body(body, number, auth):
    private = ec.derive_private_key(number, CURVE)
    salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
    sender, record = body[21:21 + length], body[21 + length:]
    if len(record) > size:
        raise ValueError("more than one record")
    key, nonce = record_key(private, sender, point_of(private), sender, auth, salt)
    text = AESGCM(key).decrypt(nonce, record, None).rstrip(b"\0")
    if text[-1:] != b"\2":
        raise ValueError("not the last record")
    return text[:-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["seal", "open"])
    parser.add_argument("--point", type=decode)
    parser.add_argument("--key", type=decode)
    parser.add_argument("--auth", type=decode, required=True)
    parser.add_argument("--padding", type=int, default=0)
    parser.add_argument("--delimiter", type=int, default=2)
    options = parser.parse_args()
    given = sys.stdin.buffer.read()
    if options.action == "seal":
        made = seal(given, options.point, options.auth, options.padding, options.delimiter)
    else:
        made = open_body(given, int.from_bytes(options.key, "big"), options.auth)
    sys.stdout.buffer.write(made)


if __name__ == "__main__":
    main()
