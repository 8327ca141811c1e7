#!/usr/bin/env python3
"""Opens device tokens of a sandbox, by their construction alone.

    opentoken.py KEY TOPIC TOKEN...

KEY is a file of 64 bytes, keys/sandbox or keys/production in the sandbox's directory. A token is 32 bytes, in hex: first
a tag, HMAC-SHA256 over the content under the key's first half, cut to 16 bytes; then the content in AES-256-CTR under the
key's other half, the tag being the first counter block. The content is the device's identifier, 8 bytes, and the first 8
bytes of SHA-256 over the topic. Prints the identifier of each, in hex. Whatever is not so is an error.
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
        sys.exit("opentoken: it was not sealed under this key")
    if content[8:] != hashlib.sha256(topic.encode()).digest()[:8]:
        sys.exit("opentoken: it is of another topic")
    return content[:8].hex()


def main():
    path, topic, *tokens = sys.argv[1:]
    with open(path, "rb") as file:
        key = file.read()
    for token in tokens:
        print(identifier(key, topic, bytes.fromhex(token)))


if __name__ == "__main__":
    main()
