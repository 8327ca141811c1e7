#!/usr/bin/env python3
"""A provider that sends exactly the given bytes, and prints what it receives in hex until the other
side closes.

    client.py --port N --certificate PEM --key PEM --ca PEM [HEX|@FILE...]

Sends each HEX, or the contents of each FILE, in its own record; a feedback service gets no bytes.
Prints "connected" first. An end without close_notify, such as a reset, is an error.
"""
import argparse
import socket
import ssl
import struct
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("certificate", "key", "ca"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--cut", type=int, metavar="BYTES", help="the most bytes in a record")
    parser.add_argument("--leave-after", type=int, metavar="BYTES", help="resets after so many bytes from the other side")
    parser.add_argument("words", nargs="*", metavar="HEX|@FILE")
    given = parser.parse_args()
    tls = ssl.create_default_context(cafile=given.ca)
    tls.load_cert_chain(given.certificate, given.key)
    with socket.create_connection(("127.0.0.1", given.port)) as raw:
        with tls.wrap_socket(raw, server_hostname="localhost", suppress_ragged_eofs=False) as stream:
            print("connected", flush=True)
            for word in given.words:
                said = open(word[1:], "rb").read() if word.startswith("@") else bytes.fromhex(word)
                size = given.cut or len(said)
                for at in range(0, len(said), size):
                    stream.sendall(said[at:at + size])
            heard = bytearray()
            while piece := stream.recv(65536):
                heard += piece
                if given.leave_after and len(heard) >= given.leave_after:
                    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    break
            print(heard.hex())


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"client: {error}")
