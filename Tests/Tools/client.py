#!/usr/bin/env python3
"""A provider that says exactly what it is told, and prints what it hears until the other side closes, as hex.

    client.py --port N --certificate PEM --key PEM --ca PEM [HEX...]

Each HEX goes out in a record of its own; nothing is said for a feedback service. Prints "connected" first. An end
without goodbye, such as a reset, is an error.
"""
import argparse
import socket
import ssl
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("certificate", "key", "ca"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=60, help="gives up after so long without a word")
    parser.add_argument("hex", nargs="*")
    given = parser.parse_args()
    tls = ssl.create_default_context(cafile=given.ca)
    tls.load_cert_chain(given.certificate, given.key)
    with socket.create_connection(("127.0.0.1", given.port), given.seconds) as raw:
        with tls.wrap_socket(raw, server_hostname="localhost", suppress_ragged_eofs=False) as stream:
            print("connected", flush=True)
            for record in given.hex:
                stream.sendall(bytes.fromhex(record))
            heard = b""
            while piece := stream.recv(65536):
                heard += piece
            print(heard.hex())


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"client: {error}")
