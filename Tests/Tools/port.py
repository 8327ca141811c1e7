"""A TCP port for servers that a program starts on 127.0.0.1."""
import socket


class Port:
    """A port that belongs to this process while the object lives.

    Its socket never listens. So the kernel gives the port to nobody else, connections are refused
    while no server listens there, and servers that set SO_REUSEADDR can listen there one after the
    other."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", 0))
        self.number = self.socket.getsockname()[1]

    def is_open(self):
        """Returns whether a server listens."""
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.number)) == 0
