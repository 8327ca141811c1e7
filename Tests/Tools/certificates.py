#!/usr/bin/env python3
"""Makes the certificates that the tests need, valid and invalid ones, in a directory.

    certificates.py DIR

    ca, other-ca                the authority that everybody trusts, and one that nobody trusts
    server, client              valid: for localhost and 127.0.0.1; with the topic com.example.tinypush
    *-rsa                       the same with RSA keys
    *-unknown-ca *-expired *-not-yet *-self-signed *-chain (with its intermediate)
    *-soon                      valid for a few more days
    server-wrong-host           for elsewhere.example
    server-sha1, server-weak    signed with SHA-1; with an RSA key of 1024 bits
    client-sandbox              has the development extension; client has the production one
    client-universal            has both, and the extension with several topics
    client-plain                has none of Apple's extensions
    client-no-topic             names no topic
    client-old-chain            with an intermediate that has expired
    client-broken-chain.pem     the client's, followed by an unrelated certificate
    client-both.pem             certificate and key in one file
    client-encrypted.key        the client's key; the password is "secret"
    client-mismatch.key         the key of another certificate
    signing.p8                  a key that signs provider tokens; signing-public.pem is its public key
    signing-other.p8            another such key

The certificates are NAME.pem and NAME.key.
"""
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PASSWORD = "secret"
EC = ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
RSA = ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
WEAK = ["RSA", "-pkeyopt", "rsa_keygen_bits:1024"]
CONFIG = """
[ca]
default_ca = authority
[authority]
database = {home}/index
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
new_certs_dir = {home}
[any]
UID = optional
commonName = supplied
[req]
distinguished_name = name
[name]
[extensions]
{extensions}
"""
AUTHORITY = "basicConstraints = critical, CA:true\nkeyUsage = critical, keyCertSign, cRLSign\n"
SERVER = "basicConstraints = CA:false\nextendedKeyUsage = serverAuth\nsubjectAltName = "
CLIENT = "basicConstraints = CA:false\nextendedKeyUsage = clientAuth\n"
PRODUCTION = "1.2.840.113635.100.6.3.2 = DER:0500\n"
SANDBOX = "1.2.840.113635.100.6.3.1 = DER:0500\n"
UNIVERSAL = PRODUCTION + SANDBOX + """1.2.840.113635.100.6.3.6 = ASN1:SEQUENCE:topics
[topics]
1.topic = UTF8:com.example.tinypush
1.uses = SEQUENCE:app
2.topic = UTF8:com.example.tinypush.voip
2.uses = SEQUENCE:voip
[app]
use = UTF8:app
[voip]
use = UTF8:voip
"""
HERE = SERVER + "DNS:localhost, IP:127.0.0.1, IP:::1\n"
TOPIC = "/UID=com.example.tinypush/CN=Push Services: com.example.tinypush"
ALWAYS = ("20200101000000Z", "20991231235959Z")
EXPIRED = ("20200101000000Z", "20210101000000Z")
SOON = (ALWAYS[0], time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + 5.5 * 86400)))
NOT_YET = ("20900101000000Z", "20991231235959Z")

#         name                issuer        subject        extensions           dates
LEAVES = [
    ("server",            "ca",           "/CN=localhost", HERE,                ALWAYS),
    ("server-rsa",        "ca",           "/CN=localhost", HERE,                ALWAYS),
    ("server-wrong-host", "ca",           "/CN=elsewhere.example", SERVER + "DNS:elsewhere.example\n", ALWAYS),
    ("server-unknown-ca", "other-ca",     "/CN=localhost", HERE,                ALWAYS),
    ("server-expired",    "ca",           "/CN=localhost", HERE,                EXPIRED),
    ("server-not-yet",    "ca",           "/CN=localhost", HERE,                NOT_YET),
    ("server-self-signed", None,          "/CN=localhost", HERE,                ALWAYS),
    ("server-chain",      "intermediate", "/CN=localhost", HERE,                ALWAYS),
    ("server-soon",       "ca",           "/CN=localhost", HERE,                SOON),
    ("server-sha1",       "ca",           "/CN=localhost", HERE,                ALWAYS),
    ("server-weak",       "ca",           "/CN=localhost", HERE,                ALWAYS),
    ("client",            "ca",           TOPIC,           CLIENT + PRODUCTION, ALWAYS),
    ("client-sandbox",    "ca",           TOPIC,           CLIENT + SANDBOX,    ALWAYS),
    ("client-soon",       "ca",           TOPIC,           CLIENT + PRODUCTION, SOON),
    ("client-universal",  "ca",           TOPIC,           CLIENT + UNIVERSAL,  ALWAYS),
    ("client-plain",      "ca",           TOPIC,           CLIENT,              ALWAYS),
    ("client-no-topic",   "ca",           "/CN=nobody",    CLIENT + PRODUCTION, ALWAYS),
    ("client-old-chain",  "old-intermediate", TOPIC,       CLIENT + PRODUCTION, ALWAYS),
    ("client-rsa",        "ca",           TOPIC,           CLIENT + PRODUCTION, ALWAYS),
    ("client-unknown-ca", "other-ca",     TOPIC,           CLIENT + PRODUCTION, ALWAYS),
    ("client-expired",    "ca",           TOPIC,           CLIENT + PRODUCTION, EXPIRED),
    ("client-not-yet",    "ca",           TOPIC,           CLIENT + PRODUCTION, NOT_YET),
    ("client-self-signed", None,          TOPIC,           CLIENT + PRODUCTION, ALWAYS),
    ("client-chain",      "intermediate", TOPIC,           CLIENT + PRODUCTION, ALWAYS),
]


def openssl(*words):
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"openssl {' '.join(map(str, words))}\n{done.stderr}")


def issue(directory, name, issuer, subject, extensions, dates):
    home = directory / ".work" / name  # one for each, so that several can be issued at a time
    home.mkdir(parents=True)
    (home / "index").touch()
    (home / "config").write_text(CONFIG.format(home=home, extensions=extensions))
    certificate, key = directory / f"{name}.pem", directory / f"{name}.key"
    kind = WEAK if name.endswith("-weak") else RSA if name.endswith("-rsa") else EC
    digest = "sha1" if name.endswith("-sha1") else "sha256"
    openssl("genpkey", "-algorithm", *kind, "-out", key)
    key.chmod(0o600)
    openssl("req", "-new", "-config", home / "config", "-key", key, "-subj", subject, "-out", home / "request")
    by = ["-selfsign", "-keyfile", key] if issuer is None else [
        "-cert", directory / f"{issuer}.pem", "-keyfile", directory / f"{issuer}.key"]
    openssl("ca", "-batch", "-notext", "-config", home / "config", "-extensions", "extensions", "-in", home / "request",
            "-startdate", dates[0], "-enddate", dates[1], "-md", digest, "-out", certificate, *by)
    if issuer and issuer.endswith("intermediate"):
        certificate.write_text(certificate.read_text() + (directory / f"{issuer}.pem").read_text())


def make(directory):
    directory = Path(directory).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(directory / ".work", ignore_errors=True)  # left by an interrupted run
    issue(directory, "ca", None, "/CN=TinyPush test authority", AUTHORITY, ALWAYS)
    issue(directory, "other-ca", None, "/CN=Somebody else's authority", AUTHORITY, ALWAYS)
    issue(directory, "intermediate", "ca", "/CN=TinyPush test intermediate", AUTHORITY, ALWAYS)
    issue(directory, "old-intermediate", "ca", "/CN=TinyPush former intermediate", AUTHORITY, EXPIRED)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda leaf: issue(directory, *leaf), LEAVES))
    broken = directory / "client-broken-chain.pem"
    broken.write_text((directory / "client.pem").read_text() + (directory / "other-ca.pem").read_text())
    both = directory / "client-both.pem"
    both.write_text((directory / "client.pem").read_text() + (directory / "client.key").read_text())
    both.chmod(0o600)
    openssl("pkey", "-in", directory / "client.key", "-aes256", "-passout", f"pass:{PASSWORD}",
            "-out", directory / "client-encrypted.key")
    openssl("genpkey", "-algorithm", *EC, "-out", directory / "client-mismatch.key")
    for name in ("signing", "signing-other"):
        openssl("genpkey", "-algorithm", *EC, "-out", directory / f"{name}.p8")
        (directory / f"{name}.p8").chmod(0o600)
    openssl("pkey", "-in", directory / "signing.p8", "-pubout", "-out", directory / "signing-public.pem")
    shutil.rmtree(directory / ".work")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        make(sys.argv[1])
    except (RuntimeError, OSError) as error:
        sys.exit(f"certificates: {error}")
