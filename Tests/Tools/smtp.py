#!/usr/bin/env python3
"""A mail server that takes one mail and prints its lines.

    smtp.py        prints "listening PORT" first
"""
import socket

with socket.create_server(("127.0.0.1", 0)) as listener:
    print("listening", listener.getsockname()[1], flush=True)
    connection, _ = listener.accept()
    with connection, connection.makefile("rw", newline="\r\n") as lines:
        def say(text):
            lines.write(text + "\r\n")
            lines.flush()

        say("220 ready")
        is_mail = False
        for line in lines:
            line = line.rstrip("\r\n")
            if is_mail:
                is_mail = line != "."
                print(line, flush=True)
                if not is_mail:
                    say("250 taken")
            elif line.upper() == "DATA":
                is_mail = True
                say("354 go on")
            elif line.upper() == "QUIT":
                say("221 bye")
                break
            else:
                say("250 localhost" if line[:4].upper() in ("EHLO", "HELO", "MAIL", "RCPT") else "500 what?")
