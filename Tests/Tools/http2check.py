#!/usr/bin/python3
"""Checks the tests' HTTP/2 peers with a client that shares no code with the agent.

    http2check.py gateway|hostile|servers [NAME...]

Starts http2gateway.py with each fault, or hostile.py with each attack, sends notifications, and
compares the answers with the expected ones. Prints a line for each check; fails if one is wrong. If
curl and nghttp are installed, they also talk to the gateway, and nghttp, which uses the agent's own
library, meets each attack. The servers are Debian's nghttpd, and one with Go's net/http.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import certificates  # noqa: E402
import hostile  # noqa: E402
import http2gateway  # noqa: E402

DEVICE = f"{7:064x}"  # the token of the client's seventh notification
SIGNER = ["--key-id", "ABCDE12345", "--team-id", "TEAM123456"]

# Each row: options of the gateway and of the client, the statuses or resets of the answers, the
# number of accepted notifications, the connection's end, and its GOAWAY. By default, the client
# sends ten notifications, one after the other.
EVERY = [200] * 10
GATEWAY = {
    "plain": ([], ["--ping", "3"], EVERY, 10, "done", None),
    "no-pong": (["--fault", "no-pong"], ["--ping", "1"], EVERY, 10, "time", None),
    "answer=": (["--answer", f"{DEVICE}=410:Unregistered:1700000000000"], [], EVERY[:6] + [410] + EVERY[:3], 9, "done", None),
    "answer=*": (["--answer", f"{DEVICE}=429:TooManyRequests:3*1"], ["--header", f":path=/3/device/{DEVICE}"],
                 [429] + EVERY[:9], 9, "done", None),
    "answer": (["--fault", "answer=418:Teapot@3"], [], [200, 200, 418] + EVERY[:7], 9, "done", None),
    "bad-certificate": (["--fault", "bad-certificate@..5"], [], [403] * 5 + [200] * 5, 5, "done", None),
    "invalid-token": (["--fault", "invalid-token@2"], [], [200, 403] + EVERY[:8], 9, "done", None),
    "expired-token": (["--fault", "expired-token@9.."], [], [200] * 8 + [403] * 2, 8, "done", None),
    "bad-topic": (["--fault", "bad-topic"], [], [403] * 10, 0, "done", None),
    "bad-path": (["--fault", "bad-path%5"], [], [200, 200, 200, 200, 404] * 2, 8, "done", None),
    "too-many-requests": (["--fault", "too-many-requests=7@2..3"], [], [200, 429, 429] + EVERY[:7], 8, "done", None),
    "too-many-tokens": (["--fault", "too-many-tokens@1"], [], [429] + EVERY[:9], 9, "done", None),
    "internal-error": (["--fault", "internal-error@3..%3"], [], [200] * 4 + [500] + [200] * 2 + [500] + [200] * 2, 8, "done", None),
    "bad-gateway": (["--fault", "bad-gateway@1"], [], [502] + EVERY[:9], 9, "done", None),
    "unavailable": (["--fault", "unavailable@1"], [], [503] + EVERY[:9], 9, "done", None),
    "shutdown": (["--fault", "shutdown@4"], [], [200] * 3 + [503], 3, "done", (0, 7, "Shutdown")),
    "unanswered": (["--fault", "unanswered@4"], [], [200] * 3, 3, "time", None),
    "unanswered=accepted": (["--fault", "unanswered=accepted%4"], ["--streams", "10"], [200] * 8, 10, "time", None),
    "silent": (["--fault", "silent@4"], ["--streams", "10"], [200] * 3, 3, "time", None),
    "stall": (["--fault", "stall@4"], ["--streams", "10"], [200] * 3, 3, "time", None),
    "refuse": (["--fault", "refuse%2"], [], [200, "r7"] * 5, 5, "done", None),
    "reset": (["--fault", "reset%2"], [], [200, "r2"] * 5, 5, "done", None),
    "reset=accepted": (["--fault", "reset=accepted%2"], [], [200, "r2"] * 5, 10, "done", None),
    "cut-before": (["--fault", "cut-before@4"], [], [200] * 3, 3, "closed", None),
    "cut-lost": (["--fault", "cut-lost@4"], [], [200] * 3, 4, "closed", None),
    "cut-lost=abrupt": (["--fault", "cut-lost=abrupt@4"], [], [200] * 3, 4, "closed|SSLEOF|SSLError|Reset", None),
    "cut-after": (["--fault", "cut-after@4"], [], [200] * 4, 4, "closed", None),
    "cut-after=reset": (["--fault", "cut-after=reset@4"], ["--streams", "1"], [200] * 4, 4, "Reset|SSL|closed", None),
    "goaway": (["--fault", "goaway@4"], [], [200] * 4, 4, "done", (0, 7, "")),
    "goaway=": (["--fault", "goaway=IdleTimeout@4"], [], [200] * 4, 4, "done", (0, 7, "IdleTimeout")),
    "goaway-twice": (["--fault", "goaway-twice@4"], [], [200] * 4, 4, "done", (0, 7, "")),
    "goaway-refusing": (["--fault", "goaway-refusing@4"], ["--streams", "10"], [200] * 3, 3, "done", (0, 5, "Shutdown")),
    "goaway-below": (["--fault", "goaway-below=2@4"], [], [200] * 4, 4, "done", (0, 3, "Shutdown")),
    "goaway-error": (["--fault", "goaway-error=11@4"], [], [200] * 3, 4, "closed", (11, 7, "InternalServerError")),
    "lower": (["--fault", "lower=2@4"], ["--streams", "10", "--count", "10"], EVERY, 10, "done", None),
    "slow": (["--fault", "slow=300@1"], ["--streams", "1"], EVERY, 10, "done", None),
    "no-body": (["--fault", "no-body", "--fault", "answer=400:BadTopic@3"], [], [200, 200, 400] + EVERY[:7], 9, "done", None),
    "text-body": (["--fault", "text-body"], [], EVERY, 10, "done", None),
    "long-body": (["--fault", "long-body"], [], EVERY, 10, "done", None),
    "byte-body": (["--fault", "byte-body", "--fault", "internal-error@3"], [], [200, 200, 500] + EVERY[:7], 9, "done", None),
    "early-hints": (["--fault", "early-hints"], [], EVERY, 10, "done", None),
    "trailers": (["--fault", "trailers"], [], EVERY, 10, "done", None),
    "no-id": (["--fault", "no-id"], [], EVERY, 10, "done", None),
    "late-settings": (["--fault", "late-settings=300"], [], EVERY, 10, "done", None),
    "closed-window": (["--fault", "closed-window=300"], [], EVERY, 10, "done", None),
    "stream-window": (["--fault", "stream-window=100"], [], EVERY, 10, "done", None),
    "connection-window": (["--fault", "connection-window=4200"],
                          ["--count", "60", "--streams", "60", "--payload", json.dumps({"a": "b" * 4000})], [200] * 60, 60, "done", None),
    "table-size": (["--fault", "table-size"], [], EVERY, 10, "done", None),
    "limit": (["--fault", "limit=3"], ["--streams", "10"], EVERY, 10, "done", None),
    "one-first": (["--fault", "one-first", "--streams", "500"], ["--streams", "10"], EVERY, 10, "done", None),
    "one-again": (["--fault", "one-again", "--answer", f"{DEVICE}=400:BadDeviceToken"], [], EVERY[:6] + [400] + EVERY[:3], 9, "done", None),
    "one-again=strict": (["--fault", "one-again=strict", "--answer", f"{DEVICE}=400:BadDeviceToken"], [],
                         EVERY[:6] + [400] + EVERY[:3], 9, "done", None),
    "idle-goaway": (["--fault", "idle-goaway=300", "--fault", "unanswered@4"], [], EVERY[:3], 3, "time", (0, 7, "")),
    "idle-cut": (["--fault", "idle-cut=300", "--fault", "unanswered@4"], [], EVERY[:3], 3, "closed", None),
    "one-token": (["--fault", "one-token"], [], EVERY, 10, "done", None),
    "too many streams": (["--fault", "limit=1"], ["--streams", "10", "--greedy"], [], 0, "done", (7, 0, "")),
    "delay": (["--delay", "100"], ["--streams", "10"], EVERY, 10, "done", None),
    # the checks
    "no path": ([], ["--header", ":path=/4/device/11"], [404] * 10, 0, "done", None),
    "no method": ([], ["--header", ":method=PUT"], [405] * 10, 0, "done", None),
    "no device token": ([], ["--header", ":path=/3/device/"], [400] * 10, 0, "done", None),
    "upper case": ([], ["--header", f":path=/3/device/{'AB' * 32}"], [400] * 10, 0, "done", None),
    "topic": ([], ["--header", "apns-topic=com.example.other"], [400] * 10, 0, "done", None),
    "suffix": ([], ["--header", "apns-push-type=voip"], [400] * 10, 0, "done", None),
    "voip": ([], ["--header", "apns-push-type=voip", "--header", "apns-topic=com.example.tinypush.voip"], EVERY, 10, "done", None),
    "push type": ([], ["--header", "apns-push-type=shout"], [400] * 10, 0, "done", None),
    "background with 10": ([], ["--header", "apns-push-type=background"], [400] * 10, 0, "done", None),
    "priority": ([], ["--header", "apns-priority=7"], [400] * 10, 0, "done", None),
    "expiration": ([], ["--header", "apns-expiration=soon"], [400] * 10, 0, "done", None),
    "apns-id": ([], ["--header", "apns-id=5"], [400] * 10, 0, "done", None),
    "collapse-id": ([], ["--header", "apns-collapse-id=" + "c" * 65], [400] * 10, 0, "done", None),
    "payload": ([], ["--payload", json.dumps({"a": "b" * 4090})], [413] * 10, 0, "done", None),
    "no JSON": ([], ["--payload", "{"], [400] * 10, 0, "done", None),
}

# Each row: the ages of the provider tokens, each on its own connection; the key; the statuses.
TOKENS = {
    "a good token": ([0], "signing", [200]),
    "an old one": ([3700], "signing", [403]),
    "one of tomorrow": ([-3600], "signing", [403]),
    "another's": ([0], "signing-other", [403]),
    "none": ([None], "signing", [403]),
    "two at once": ([10, 5, 10], "signing", [200, 429, 200]),
    "one that has expired": ([10, 10, 5, 10, 5], "signing", [403, 403, 200, 403, 200], ["--fault", "expired-token=token@1"]),
}


class Server:
    def __init__(self, home, tool, words):
        self.record = Path(tempfile.mkdtemp(dir=home))
        certs = home / "certs"
        program = [home / tool] if tool == "goserver" else [PYTHON, HERE / f"{tool}.py"]
        if tool != "nghttpserver":
            words = ["--ca", certs / "ca.pem", *words]
        self.process = subprocess.Popen(
            [*program, "--record", self.record, "--certificate", certs / "server.pem", "--key", certs / "server.key", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = self.process.stdout.readline().split()[1]
        self.certs = certs

    def ask(self, words, certificate=True):
        shown = ["--certificate", self.certs / "client.pem", "--key", self.certs / "client.key"] if certificate else []
        done = subprocess.run(
            [PYTHON, HERE / "http2client.py", "--port", self.port, "--ca", self.certs / "ca.pem", *shown, *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def lines(self, name):
        path = self.record / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()  # this ends it
        self.process.wait(10)


def outcomes(answers):
    ordered = sorted(answers, key=lambda one: one["number"])
    return [f"r{one['reset']}" if "reset" in one else one.get("status") for one in ordered]


def try_gateway(home, name):
    options, asked, expected, accepted, end, goaway = GATEWAY[name]
    seconds = "1.5" if end == "time" else "20"
    with Server(home, "http2gateway", options) as server:
        *answers, last = server.ask(["--count", "10", "--streams", "1", "--seconds", seconds, *asked])
    said = last["goaway"] and (last["goaway"]["code"], last["goaway"]["last"])
    wrong = []
    if outcomes(answers) != expected:
        wrong.append(f"answers {outcomes(answers)}, not {expected}")
    if not any(one in last["end"] for one in end.split("|")):
        wrong.append(f"ended with {last['end']}, not {end}")
    if said != (goaway and goaway[:2]) or goaway and goaway[2] not in last["goaway"]["data"]:
        wrong.append(f"GOAWAY {last['goaway']}, not {goaway}")
    recorded = sum(line["accepted"] for line in server.lines("requests"))
    if recorded != accepted:
        wrong.append(f"{recorded} accepted, not {accepted}")
    return wrong


def try_tokens(home, name):
    ages, key, expected, *options = TOKENS[name]
    found, made = [], {None: []}  # a new token differs from the one before
    with Server(home, "http2gateway", ["--signing-key-public", home / "certs/signing-public.pem", *SIGNER,
                                       *(options[0] if options else [])]) as server:
        for age in ages:
            if age not in made:
                made[age] = ["--token", subprocess.run(
                    [PYTHON, HERE / "providertoken.py", "--signing-key", home / f"certs/{key}.p8", *SIGNER, "--age", str(age)],
                    capture_output=True, text=True, check=True).stdout.strip()]
            found += outcomes(server.ask(made[age], certificate=False)[:-1])
    return [] if found == expected else [f"{found}, not {expected}"]


# Other clients, which send one notification. %s is the URL.
STRANGERS = {
    "curl": ["curl", "--silent", "--include", "--http2", "--max-time", "5", "--cacert", "certs/ca.pem",
             "--cert", "certs/client.pem", "--key", "certs/client.key", "--data", '{"aps":{}}', "%s"],
    "nghttp": ["nghttp", "--verbose", "--timeout", "5", "--cert", "certs/client.pem", "--key", "certs/client.key",
               "--data", "payload", "%s"],
}


def try_stranger(home, name):
    if not shutil.which(name):
        return []
    (home / "payload").write_text('{"aps":{}}')
    found = []
    for options, status in (([], "200"), (["--fault", "answer=410:Unregistered"], "410")):
        with Server(home, "http2gateway", options) as server:
            url = f"https://localhost:{server.port}/3/device/{DEVICE}"
            done = subprocess.run([word.replace("%s", url) for word in STRANGERS[name]], cwd=home, timeout=20,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if f"HTTP/2 {status}" not in done.stdout and f":status: {status}" not in done.stdout:
            found.append(f"no {status}: {done.stdout}{done.stderr}")
        if [line["token"] for line in server.lines("requests")] != [DEVICE]:
            found.append(f"recorded {server.lines('requests')}")
    return found


# Independent servers. Each row: what it needs; its options; whether it wants a certificate, and a
# token; the answers.
SERVERS = {
    "goserver": ("go", [], True, False, EVERY),
    "goserver with a token": ("go", ["--signing-key-public", "certs/signing-public.pem"], False, True, EVERY),
    "goserver without": ("go", ["--signing-key-public", "certs/signing-public.pem"], False, False, [403] * 10),
    "nghttpserver": ("nghttpd", [], True, False, EVERY),
    "nghttpserver without": ("nghttpd", ["--optional"], False, False, EVERY),
}


def try_server(home, name):
    need, options, has_certificate, has_token, expected = SERVERS[name]
    if not shutil.which(need):
        return []
    tool = name.split()[0]
    if need == "go" and not (home / tool).exists():
        subprocess.run(["go", "build", "-o", home / tool, HERE / "goserver.go"], check=True,
                       env={**os.environ, "GOCACHE": str(home / "go"), "GO111MODULE": "off"})
    token = []
    if has_token:
        token = ["--token", subprocess.run(
            [PYTHON, HERE / "providertoken.py", "--signing-key", home / "certs/signing.p8", *SIGNER],
            capture_output=True, text=True, check=True).stdout.strip()]
    options = [str(home / word) if word.startswith("certs/") else word for word in options]
    with Server(home, tool, options) as server:
        *answers, last = server.ask(["--count", "10", *token], certificate=has_certificate)
    recorded = [line["answer"] for line in server.lines("requests")]
    found = outcomes(answers)
    return [] if found == recorded == expected and last["end"] == "done" else [f"{found}, {recorded}, {last}"]


def nghttp_says(home, server):
    """Returns the end of nghttp, and the reason in its GOAWAY."""
    if not shutil.which("nghttp"):
        return "not installed"
    (home / "payload").write_text('{"aps":{}}')
    before = len(server.lines("events"))
    try:
        done = subprocess.run(["nghttp", "--null-out", "--data", home / "payload",
                               f"https://localhost:{server.port}/3/device/{DEVICE}"], timeout=1.5,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        said = [line for line in (done.stdout + done.stderr).splitlines() if "WARNING" not in line]
        how = "ends" + (f": {said[0][:70]}" if said else "")
    except subprocess.TimeoutExpired:
        how = "goes on"
    goaways = [event for event in server.lines("events")[before:] if event["event"] == "goaway"]
    return how + (f"; GOAWAY {goaways[0]['code']} {goaways[0]['data']}" if goaways else "")


def try_attack(home, name):
    """Tries an attack. It passes if the client complains of it, or does not answer it normally."""
    with Server(home, "hostile", ["--attack", name, "--megabytes", "2"]) as server:
        *answers, last = server.ask(["--count", "3", "--streams", "3", "--seconds", "1.5"])
        stranger = nghttp_says(home, server)
    kinds = [event["event"] for event in server.lines("events")]
    wrong = []
    if "attack" not in kinds:
        wrong.append(f"no attack: {server.lines('events')}")
    if last["end"] == "done" and outcomes(answers) == [200] * 3 and name not in hostile.HARMLESS:
        wrong.append("nothing came of it")
    if not wrong:
        print(f"       {name}: h2 {outcomes(answers)}, {last['end'][:90]}; nghttp {stranger}")
    return wrong


def main():
    what, names = sys.argv[1], sys.argv[2:]
    suites = {"gateway": [(GATEWAY, try_gateway), (TOKENS, try_tokens), (STRANGERS, try_stranger)],
              "servers": [(SERVERS, try_server)],
              "hostile": [(hostile.ATTACKS, try_attack)]}[what]
    failed = 0
    if what == "gateway" and (missing := set(http2gateway.FAULTS) - set(GATEWAY)):
        sys.exit(f"http2check: not tried: {', '.join(sorted(missing))}")
    with tempfile.TemporaryDirectory(prefix="tinypush-http2-") as home:
        home = Path(home)
        certificates.make(home / "certs")
        for cases, attempt in suites:
            for name in cases:
                if names and name not in names:
                    continue
                wrong = attempt(home, name)
                print(f"{'FAILED' if wrong else 'ok    '} {name}{': ' if wrong else ''}{'; '.join(wrong)}", flush=True)
                failed += bool(wrong)
    sys.exit(bool(failed))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("gateway", "hostile", "servers"):
        sys.exit(__doc__)
    try:
        main()
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        sys.exit(f"http2check: {error}")
