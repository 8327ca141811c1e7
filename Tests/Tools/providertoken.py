#!/usr/bin/python3
"""Makes and verifies provider tokens, the JWTs that Apple's HTTP/2 service requires without a
certificate.

    providertoken.py --signing-key P8 --key-id ID --team-id ID [--age SECONDS]

Prints a token. Needs Debian's python3-cryptography, hence Debian's Python.
"""
import argparse
import base64
import json
import sys
import time

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

HALF = 32  # the bytes of each number in a signature


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    if "=" in text or "+" in text or "/" in text:
        raise ValueError("not base64url without padding")
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)


def make(key, key_id, team_id, issued_at):
    """Returns a token. `key`: the PEM text of a PKCS#8 key."""
    private = serialization.load_pem_private_key(key, None)
    head = encode(json.dumps({"alg": "ES256", "kid": key_id}, separators=(",", ":")).encode())
    claims = encode(json.dumps({"iss": team_id, "iat": issued_at}, separators=(",", ":")).encode())
    said = f"{head}.{claims}"
    r, s = utils.decode_dss_signature(private.sign(said.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{said}.{encode(r.to_bytes(HALF, 'big') + s.to_bytes(HALF, 'big'))}"


class Judge:
    """Verifies tokens as Apple does."""

    def __init__(self, public, key_id, team_id):
        self.public = serialization.load_pem_public_key(public)
        self.key_id, self.team_id = key_id, team_id
        self.verified = {}  # token -> when it was issued

    def issued_at(self, token):
        """Returns when the token was issued, in UNIX seconds; raises ValueError if it is
        invalid."""
        if token in self.verified:
            return self.verified[token]
        parts = token.split(".")
        if len(parts) != 3:
            raise ValueError("not three parts")
        head, claims, signature = (decode(part) for part in parts)
        head, claims = json.loads(head), json.loads(claims)
        if not isinstance(head, dict) or not isinstance(claims, dict):
            raise ValueError("header or claims are no object")
        if head.get("alg") != "ES256" or head.get("kid") != self.key_id:
            raise ValueError("another algorithm or key")
        if claims.get("iss") != self.team_id:
            raise ValueError("another team")
        issued_at = claims.get("iat")
        if type(issued_at) is not int:
            raise ValueError("iat is no integer")
        if len(signature) != 2 * HALF:
            raise ValueError("the signature does not have 64 bytes")
        r, s = (int.from_bytes(half, "big") for half in (signature[:HALF], signature[HALF:]))
        try:
            self.public.verify(utils.encode_dss_signature(r, s), f"{parts[0]}.{parts[1]}".encode(),
                               ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            raise ValueError("the signature is wrong") from None
        if len(self.verified) > 1000:
            self.verified.clear()
        self.verified[token] = issued_at
        return issued_at


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("signing-key", "key-id", "team-id"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--age", type=int, default=0, metavar="SECONDS", help="the token's age (0)")
    given = parser.parse_args()
    print(make(open(given.signing_key, "rb").read(), given.key_id, given.team_id, int(time.time()) - given.age))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"providertoken: {error}")
