#!/usr/bin/env python3
"""Opens a sandbox's device tokens, without sharing any code with the sandbox.

    opentoken.py KEY TOPIC TOKEN...

KEY is a file of 64 bytes, keys/sandbox or keys/production in the sandbox's directory. A token is 32
bytes, in hex. It begins with a tag: HMAC-SHA256 over the content under the key's first half,
truncated to 16 bytes. The content follows in AES-256-CTR under the key's second half, with the tag
as the first counter block. The content is the device's identifier, 8 bytes, and the first 8 bytes
of the topic's SHA-256. Prints the identifier of each token in hex; an invalid token is an error.
"""
import hashlib
import hmac
import subprocess
import sys


def identifier(key, topic, token):
    tag, sealed = token[:16], token[16:]
    words = ["openssl", "enc", "-d", "-aes-256-ctr", "-K", key[32:].hex(), "-iv", tag.hex()]
    content = subprocess.run(words, input=sealed, capture_output=True, check=True).stdout
    if hmac.digest(key[:32], content, "sha256")[:16] != tag:
        sys.exit("opentoken: the token was not sealed under this key")
    if content[8:] != hashlib.sha256(topic.encode()).digest()[:8]:
        sys.exit("opentoken: the token is for another topic")
    return content[:8].hex()


def main():
    path, topic, *tokens = sys.argv[1:]
    with open(path, "rb") as file:
        key = file.read()
    for token in tokens:
        print(identifier(key, topic, bytes.fromhex(token)))


if __name__ == "__main__":
    main()
