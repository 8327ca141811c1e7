#!/usr/bin/env python3
"""Sends mails that Python's library makes, and compares the notifications with what they must show.

    mails.py SPOOL COMMAND...     the command that takes a mail, as sendmail does

Prints each difference, and then the number of mails.
"""
import email.charset
import email.header
import email.message
import email.mime.image
import email.mime.multipart
import email.mime.text
import json
import pathlib
import subprocess
import sys

TEXTS = {
    "us-ascii": "Disk full", "utf-8": "Größe “5 €” 你好 \U0001F600", "iso-8859-1": "Größe über é ñ",
    "iso-8859-15": "Größe 5 €", "windows-1252": "Größe “5 €”", "koi8-r": "Привет, мир", "windows-1251": "Привет, мир",
    "windows-1258": "Hello", "iso-2022-jp": "こんにちは世界", "shift_jis": "こんにちは世界", "euc-jp": "こんにちは世界",
    "gb18030": "你好，世界", "big5hkscs": "你好，世界", "euc-kr": "안녕 세계", "utf-7": "Größe 你好",
}


def send(spool, command, mail):
    """Sends a mail, and returns the title and the text of its notification."""
    done = subprocess.run([*command, "-i", "root"], input=mail, capture_output=True)
    if done.returncode or done.stdout or done.stderr:
        return done.returncode, done.stderr
    (file,) = (spool / "new").iterdir()
    alert = json.loads(file.read_bytes())["payload"]["aps"]["alert"]
    file.unlink()
    return (alert["title"], alert["body"]) if isinstance(alert, dict) else (None, alert)


def mails():
    """Returns mails, with their titles and texts."""
    for name, line in TEXTS.items():
        text = f"{line}\n\n  {line}"
        for repeated in 1, 12:
            subject = " ".join([line] * repeated)
            for encoding in "q", "b":
                charset = email.charset.Charset(name)
                charset.header_encoding = email.charset.QP if encoding == "q" else email.charset.BASE64
                for transfer in "quoted-printable", "base64", "8bit", "7bit":
                    mail = email.message.EmailMessage()
                    try:
                        mail.set_content(text + "\n", charset=name, cte=transfer)
                    except (UnicodeError, ValueError):
                        continue  # This encoding cannot have this text.
                    header = email.header.Header(subject, charset, header_name="Subject").encode()
                    yield f"Subject: {header}\n".encode() + mail.as_bytes(), subject, text
    plain = email.mime.text.MIMEText("plain text", "plain", "utf-8")
    page = email.mime.text.MIMEText("<p>1 &lt; 2 <b>€</b></p>", "html", "utf-8")
    image = email.mime.image.MIMEImage(b"\x89PNG\r\n\x1a\n" + bytes(20000))
    attached = email.mime.text.MIMEText("attached", "plain")
    attached["Content-Disposition"] = "attachment; filename=log.txt"
    for kind, parts, text in [
        ("alternative", [plain, page], "plain text"), ("alternative", [page, plain], "plain text"),
        ("mixed", [image, page], "1 < 2 €"), ("mixed", [attached, plain], "plain text"),
        ("related", [page, image], "1 < 2 €"),
    ]:
        inner = email.mime.multipart.MIMEMultipart(kind, _subparts=parts)
        for mail in inner, email.mime.multipart.MIMEMultipart("mixed", _subparts=[image, inner]):
            yield b"Subject: parts\n" + mail.as_bytes(), "parts", text
    # Bytes that their character set does not have.
    for name, body, text in [
        (b"utf-8", b"a\xffb", "a\xffb"), (b"unknown-8bit", b"Gr\xf6\xdfe", "Größe"),
        (b"shift_jis", b"Disk \x81\n\nfull", "Disk \ufffd\n\nfull"), (b"euc-jp", b"full \x8f", "full \ufffd"),
        (b"iso-2022-jp", b"full \x1b$B", "full"), (b"../../etc/passwd", b"full", "full"),
    ]:
        yield b"Subject: x\nContent-Type: text/plain; charset=" + name + b"\n\n" + body + b"\n", "x", text


def main(spool, *command):
    count = 0
    for mail, title, text in mails():
        count += 1
        found = send(pathlib.Path(spool), command, mail)
        shown = title if len(title.encode()) <= 256 else None
        if found[1] != text or (shown if shown else title[:40]) != (found[0] if shown else found[0][:40]):
            print(f"{mail[:300]!r}\n  must show {(title, text)!r}\n  but shows {found!r}")
    print(count)


main(*sys.argv[1:])
