#!/usr/bin/python3
"""A gateway for tests like Apple's HTTP/2 service, which misbehaves as it is told.

    http2gateway.py --certificate PEM --key PEM --ca PEM --record DIR [option...] [--fault FAULT...] [--answer ANSWER...]

Prints "listening PORT" once it is ready. Listens only on 127.0.0.1; ends at SIGTERM, when its
standard input is a pipe that closes. It requires a client certificate; with
--signing-key-public, a certificate or a provider token; with --trusting, neither. Needs Debian's
python3-h2 and python3-cryptography, hence Debian's Python.

DIR/requests has a JSON line for each request, written before the answer: number (over all
connections, from 1), connection, stream, token, headers, never (the names that must not be
indexed), payload, accepted (whether it counts as delivered), answer (the status, or null), reason,
fault (its name, or null), at. DIR/events has one for each other event: open, fault (at its first
time), settings, ping, cancelled, goaway, cut, malformed, closed and so on.

ANSWER is TOKENHEX=STATUS[:REASON[:NUMBER]][*TIMES]: the answer for this device token, always or the
first TIMES times. NUMBER is the timestamp of a 410 in ms; for any other status, the seconds of a
retry-after. @FILE has one in each line.

FAULT is NAME[=VALUE][WHEN]. WHEN counts requests, or connections, from 1:
    @5  only the 5th     @5..  from the 5th on     @..5  the first five     @5..9     %7  every 7th     nothing: all
"""
import collections
import heapq
import json
import os
import re
import sys
import time
import uuid

try:
    import h2.config
    import h2.connection
    import h2.errors
    import h2.events
    import h2.exceptions
    import h2.settings
except ImportError:  # not Debian's Python
    if sys.executable == "/usr/bin/python3":
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
from hpack import NeverIndexedHeaderTuple
from hyperframe.frame import GoAwayFrame

import http2checks
import peer
import providertoken

Code = h2.settings.SettingCodes
STREAMS = 1000  # MAX_CONCURRENT_STREAMS
LONG_BODY_BYTES = 10_240
FORGET_EVERY = 256
GOAWAY_SECONDS = 1  # between the last answer and the end of a connection
LIMIT_BREACH = b"Maximum active streams violated"

#   name                 kind          its VALUE and effect
FAULTS = {
    # instead of the answer; the request is not accepted, unless the text says so
    "answer":           ("answer", "STATUS:REASON"),
    "bad-certificate":  ("answer", "403 BadCertificate"),
    "invalid-token":    ("answer", "403 InvalidProviderToken"),
    "expired-token":    ("answer", "[token] 403 ExpiredProviderToken; token: for this one, until another comes"),
    "bad-topic":        ("answer", "403 TopicDisallowed"),
    "too-many-requests": ("answer", "[SECONDS] 429 TooManyRequests, with a retry-after of SECONDS"),
    "internal-error":   ("answer", "500 InternalServerError"),
    "bad-gateway":      ("answer", "502 with an HTML page, as from a proxy"),
    "unavailable":      ("answer", "[SECONDS] 503 ServiceUnavailable, with a retry-after of SECONDS"),
    "shutdown":         ("answer", "503 Shutdown, then GOAWAY; earlier streams are answered"),
    "silent":           ("answer", "[accepted] answers no stream from now on, but reads and acknowledges PING"),
    "stall":            ("answer", "[accepted] does not read, write or close from now on"),
    "refuse":           ("answer", "RST_STREAM with REFUSED_STREAM"),
    "reset":            ("answer", "[accepted] RST_STREAM with INTERNAL_ERROR"),
    "cut-before":       ("answer", "[abrupt|reset] closes before processing the request; reset: by TCP"),
    "cut-lost":         ("answer", "[abrupt|reset] accepts it, and closes without an answer"),
    "cut-after":        ("answer", "[abrupt|reset] accepts it, answers, and closes"),
    "goaway":           ("answer", "[REASON] GOAWAY without an error after this request; earlier requests are answered"),
    "goaway-twice":     ("answer", "the same, with a first GOAWAY that names stream 2147483647"),
    "goaway-refusing":  ("answer", "[REASON] GOAWAY that names the stream before: this and later requests are not processed"),
    "goaway-below":     ("answer", "[COUNT] GOAWAY that names the stream COUNT (10) before, though all were accepted"),
    "goaway-error":     ("answer", "[CODE] GOAWAY with an error code (2), and closes; earlier requests are not answered"),
    "lower":            ("answer", "[STREAMS] accepts it, and allows only STREAMS (1) from then on"),
    # any answer, in another form
    "slow":             ("shape", "[MS] the answer comes MS (1000) late"),
    "no-body":          ("shape", "without a body, even for an error"),
    "text-body":        ("shape", "with a body that is not JSON"),
    "long-body":        ("shape", "with a body of 10 KB"),
    "byte-body":        ("shape", "with a body in frames of one byte"),
    "early-hints":      ("shape", "with a 103 response before it"),
    "trailers":         ("shape", "with trailers after it"),
    "no-id":            ("shape", "without apns-id"),
    "no-end":           ("shape", "without its end: the stream stays open"),
    # a whole connection
    "late-settings":    ("connection", "[MS] settings come MS (1000) late"),
    "closed-window":    ("connection", "[MS] INITIAL_WINDOW_SIZE 0, and 65535 after MS (200)"),
    "stream-window":    ("connection", "[BYTES] INITIAL_WINDOW_SIZE (1000)"),
    "connection-window": ("connection", "[BYTES] opens the used-up window by at most BYTES (5200) at a time"),
    "one-first":        ("connection", "one stream until a request is accepted; always so with a signing key"),
    "one-token":        ("connection", "answers only 429 after a second provider token"),
}
WHEN = re.compile(r"(?:@(\d*)(\.\.)?(\d*))?(?:%(\d+))?")


class Fault:
    def __init__(self, text):
        found = re.fullmatch(r"([a-z0-9-]+)(?:=([^@%]*))?((?:@[0-9.]+)?(?:%\d+)?)", text)
        if not found or found[1] not in FAULTS:
            raise ValueError(f"{text}: unknown fault; --help lists all")
        self.name, self.value = found[1], found[2]
        self.is_noted = False
        self.kind = FAULTS[self.name][0]
        first, span, last, every = WHEN.fullmatch(found[3]).groups()
        self.first = int(first or 1)
        self.last = int(last) if last else self.first if first and not span else None
        self.every = int(every or 1)

    def strikes(self, number):
        return (number >= self.first and (self.last is None or number <= self.last)
                and (number - self.first + 1) % self.every == 0)

    @property
    def retry_after(self):
        return int(self.value) if self.value and self.value.isdecimal() else None

    def number(self, default):
        return int(self.value) if self.value else default


class Settings(h2.settings.Settings):
    """Settings without a limit of streams: the gateway itself enforces the limit, as Apple does."""

    max_concurrent_streams = 1 << 31


class Connection(h2.connection.H2Connection):
    calls = 0

    @property
    def open_inbound_streams(self):
        """Skips counting the streams at each request, which takes h2 most of its time."""
        self.calls += 1
        if self.calls % FORGET_EVERY == 0:
            self._open_streams(1)
        return 0


class Request:
    def __init__(self, connection, stream, headers):
        self.connection, self.stream, self.headers = connection, stream, headers
        self.values = dict(headers)
        self.payload = bytearray()
        self.number = None

    @property
    def token(self):
        return self.values.get(":path", "").rpartition("/")[2]


class Answer:
    def __init__(self, status, reason=None, fault=None, is_accepted=False, timestamp=None, retry_after=None):
        self.status, self.reason, self.fault, self.is_accepted = status, reason, fault, is_accepted
        self.timestamp, self.retry_after = timestamp, retry_after

    @property
    def body(self):
        if self.reason is None:
            return b""
        return json.dumps({"reason": self.reason, **({"timestamp": self.timestamp} if self.timestamp else {})},
                          separators=(",", ":")).encode()


class Gateway(peer.Peer):
    def __init__(self, given):
        super().__init__(given)
        self.requests = open(self.record / "requests", "ab", buffering=0)  # each line is written at once
        self.faults = [Fault(text) for text in given.fault]
        self.answers = {}
        texts = []
        for text in given.answer:
            texts += open(text[1:]).read().split() if text.startswith("@") else [text]
        for text in texts:
            found = re.fullmatch(r"([0-9a-f]+)=(\d+)(?::(\w*))?(?::(\d+))?(?:\*(\d+))?", text)
            if not found:
                raise ValueError(f"{text}: invalid answer; see --help")
            token, status, reason, number, times = found.groups()
            self.answers[token] = [int(status), reason or None, number and int(number), int(times or -1)]
        self.judge = None
        if given.signing_key_public:
            if not given.key_id or not given.team_id:
                raise ValueError("--signing-key-public requires --key-id and --team-id")
            with open(given.signing_key_public, "rb") as file:
                self.judge = providertoken.Judge(file.read(), given.key_id, given.team_id)
        self.expired = set()  # provider tokens
        self.provider_tokens = []  # the tokens in use, the latest last: (token, issued)
        self.number = 0

    def attend(self, number, stream):
        Conversation(self, number, stream).run()

    def strikes(self, fault, connection, number):
        if not fault.strikes(number) or not self.is_scripted(connection):
            return False
        with self.lock:
            is_first, fault.is_noted = not fault.is_noted, True
        if is_first:
            self.note(connection, "fault", fault=fault.name)
        return True

    def numbered(self, request):
        with self.lock:
            self.number += 1
            request.number = self.number

    def keep(self, request, answer, is_answered=True):
        line = json.dumps({
            "number": request.number, "connection": request.connection, "stream": request.stream,
            "token": request.token, "headers": request.values,
            "never": [one[0] for one in request.headers if isinstance(one, NeverIndexedHeaderTuple)],
            "payload": request.payload.decode("utf-8", "replace"), "accepted": answer.is_accepted,
            "answer": answer.status if is_answered else None, "reason": answer.reason, "fault": answer.fault,
            "at": round(time.monotonic(), 6)})
        with self.lock:
            self.requests.write(line.encode() + b"\n")

    def expire(self, request):
        """Treats the request's provider token as too old: another one may come at once."""
        token = request.values.get("authorization", "").partition(" ")[2]
        with self.lock:
            self.expired.add(token)
            self.provider_tokens = [one for one in self.provider_tokens if one[0] != token]

    def provider_token_fault(self, request, has_certificate):
        """Returns (status, reason) if the sender is not authorized, or None."""
        if not self.judge:
            return None
        scheme, _, token = request.values.get("authorization", "").partition(" ")
        if not token:
            return None if has_certificate else (403, "MissingProviderToken")
        try:
            if scheme.lower() != "bearer":
                raise ValueError("no bearer token")
            issued_at = self.judge.issued_at(token)
        except ValueError:
            return 403, "InvalidProviderToken"
        age = time.time() - issued_at
        if token in self.expired or not 0 <= age <= self.given.token_lives:
            return 403, "ExpiredProviderToken"
        with self.lock:
            known = [one for one, _ in self.provider_tokens]
            if token not in known:
                if known and issued_at - self.provider_tokens[-1][1] < self.given.token_rests:
                    return 429, "TooManyProviderTokenUpdates"
                # The earlier token stays valid on the connection that drains.
                self.provider_tokens = self.provider_tokens[-1:] + [(token, issued_at)]
        return None


class Over(Exception):
    """The connection is over."""


class Conversation:
    """One connection to the gateway."""

    def __init__(self, gateway, number, stream):
        self.gateway, self.given, self.number, self.stream = gateway, gateway.given, number, stream
        certificate = stream.getpeercert(binary_form=True)
        self.has_certificate = bool(certificate)
        self.topics = self.given.topic or http2checks.certificate_topics(certificate)
        self.faults = {fault.name: fault for fault in gateway.faults
                       if fault.kind == "connection" and gateway.strikes(fault, number, number)}
        self.connection = Connection(h2.config.H2Configuration(client_side=False, header_encoding="latin-1"))
        self.requests = {}  # stream -> the request so far
        self.open = set()  # unanswered streams
        self.highest = 0  # the highest processed stream
        self.recent = collections.deque(maxlen=10_000)  # the numbers of processed streams, in order
        self.limits = collections.deque()  # of streams: the present one, then unacknowledged ones
        self.bodies = {}  # stream -> [rest of the body, bytes in a frame, trailers]
        self.timers = []  # (time, serial, action)
        self.serial = 0
        self.is_silent = self.is_leaving = False
        self.last_stream = None  # the last stream in a GOAWAY frame
        self.provider_token = None
        self.has_two_tokens = False
        self.accepted = 0

    # --- the connection ---

    def run(self):
        try:
            self.begin()
            while True:
                self.on_time()
                if self.is_leaving and not (self.open or self.bodies):
                    self.is_leaving = False
                    self.later(GOAWAY_SECONDS, self.leave)
                piece = self.read()
                if piece == b"":
                    break
                if piece:
                    self.take(piece)
            self.gateway.note(self.number, "end", accepted=self.accepted)
        except Over:
            pass
        except h2.exceptions.ProtocolError as error:
            self.gateway.note(self.number, "malformed", what=f"{type(error).__name__}: {error}")
            self.flush()
            self.gateway.part(self.stream)

    def begin(self):
        connection = self.connection
        if self.stream.selected_alpn_protocol() != "h2":
            self.gateway.note(self.number, "no-alpn")
            raise Over
        if "late-settings" in self.faults:
            time.sleep(self.faults["late-settings"].number(1000) / 1000)
        limit = self.limit_max = STREAMS
        if "one-first" in self.faults or self.gateway.judge:
            limit = 1
        connection.local_settings = Settings(client=False, initial_values={
            Code.MAX_CONCURRENT_STREAMS: limit, Code.MAX_HEADER_LIST_SIZE: 8000, Code.ENABLE_PUSH: 0})
        del connection.local_settings[Code.ENABLE_PUSH]
        connection.initiate_connection()
        self.limits.extend((limit, limit))
        if "closed-window" in self.faults:
            self.settings({Code.INITIAL_WINDOW_SIZE: 0})
            self.later(self.faults["closed-window"].number(200) / 1000,
                       lambda: self.settings({Code.INITIAL_WINDOW_SIZE: 65_535}))
        if "stream-window" in self.faults:
            self.settings({Code.INITIAL_WINDOW_SIZE: self.faults["stream-window"].number(1000)})
        self.flush()

    def settings(self, changed):
        self.connection.update_settings(changed)
        self.limits.append(changed.get(Code.MAX_CONCURRENT_STREAMS, self.limits[-1]))

    def allow(self, streams):
        if streams != self.limits[-1]:
            self.settings({Code.MAX_CONCURRENT_STREAMS: streams})
            self.gateway.note(self.number, "limit", streams=streams)

    def later(self, seconds, action):
        self.serial += 1
        heapq.heappush(self.timers, (time.monotonic() + seconds, self.serial, action))

    def on_time(self):
        while self.timers and self.timers[0][0] <= time.monotonic():
            heapq.heappop(self.timers)[2]()
            self.flush()

    def flush(self):
        self.send(self.connection.data_to_send())

    def send(self, data):
        self.stream.settimeout(None)
        self.stream.sendall(data)

    def read(self):
        """Returns bytes; b"" at the end; None if something else is due first."""
        due = self.timers[0][0] if self.timers else None
        self.stream.settimeout(None if due is None else max(0.0001, due - time.monotonic()))
        try:
            return self.stream.recv(65536)
        except TimeoutError:
            return None

    def leave(self):
        self.gateway.note(self.number, "left", accepted=self.accepted)
        self.gateway.part(self.stream)
        raise Over

    def close(self, how, why):
        """Closes at once, in one of three ways."""
        self.flush()
        self.gateway.note(self.number, "cut", accepted=self.accepted, why=why, open=sorted(self.open))
        if how == "reset":
            self.gateway.reset(self.stream)
        elif how != "abrupt":
            self.gateway.part(self.stream)
        raise Over

    def goaway(self, last_stream, code=0, reason=b""):
        """Sends a GOAWAY in raw bytes, since h2 ends everything with one."""
        frame = GoAwayFrame(0, last_stream_id=last_stream, error_code=code, additional_data=reason)
        self.flush()
        self.send(frame.serialize())
        self.last_stream = last_stream
        self.gateway.note(self.number, "said-goaway", last=last_stream, code=code, reason=reason.decode())

    # --- receiving ---

    def take(self, piece):
        complete = []
        for event in self.connection.receive_data(piece):
            if isinstance(event, h2.events.RequestReceived):
                self.opened(event)
            elif isinstance(event, h2.events.DataReceived):
                self.received(event)
            elif isinstance(event, h2.events.StreamEnded):
                complete.append(event.stream_id)
            elif isinstance(event, h2.events.StreamReset):
                self.gateway.note(self.number, "cancelled", stream=event.stream_id, code=int(event.error_code))
                self.open.discard(event.stream_id)
                self.requests.pop(event.stream_id, None)
                self.bodies.pop(event.stream_id, None)
            elif isinstance(event, h2.events.SettingsAcknowledged):
                if len(self.limits) > 1:
                    self.limits.popleft()
            elif isinstance(event, h2.events.RemoteSettingsChanged):
                self.gateway.note(self.number, "settings", settings={
                    getattr(code, "name", str(code)): one.new_value for code, one in event.changed_settings.items()})
            elif isinstance(event, h2.events.PingReceived):
                self.gateway.note(self.number, "ping")
            elif isinstance(event, h2.events.PriorityUpdated):
                self.gateway.note(self.number, "priority", stream=event.stream_id)
            elif isinstance(event, h2.events.ConnectionTerminated):
                self.gateway.note(self.number, "goaway", code=int(event.error_code), last=event.last_stream_id)
        # Requests in one piece were sent before any of them was answered, so they are open
        # together.
        for stream in complete:
            if stream in self.requests:
                self.process(self.requests.pop(stream))
        for stream in list(self.bodies):
            self.send_body(stream)
        self.flush()

    def opened(self, event):
        stream = event.stream_id
        if self.last_stream is not None and stream > self.last_stream:
            return  # a GOAWAY has already excluded this stream
        self.open.add(stream)
        limit = max(self.limits)
        if len(self.open) > limit:
            self.gateway.note(self.number, "too-many-streams", open=len(self.open), limit=limit)
            self.goaway(self.highest, int(h2.errors.ErrorCodes.REFUSED_STREAM), LIMIT_BREACH)
            self.close(None, "too many streams")
        self.requests[stream] = Request(self.number, stream, event.headers)

    def received(self, event):
        size = event.flow_controlled_length
        if event.stream_id in self.requests:
            request = self.requests[event.stream_id]
            if len(request.payload) < 65_536:
                request.payload += event.data
        if "connection-window" in self.faults:
            most = self.faults["connection-window"].number(5200)
            left = self.connection.inbound_flow_control_window
            if size and left < most:
                self.connection.increment_flow_control_window(most - left)
            if size and not event.stream_ended:
                self.connection.increment_flow_control_window(size, event.stream_id)
        elif size:
            self.connection.acknowledge_received_data(size, event.stream_id)

    def process(self, request):
        gateway = self.gateway
        if self.last_stream is not None and request.stream > self.last_stream:
            gateway.note(self.number, "ignored", stream=request.stream)
            return
        gateway.numbered(request)
        answer = self.judgement(request)
        struck = [fault for fault in gateway.faults if fault.kind != "connection"
                  and gateway.strikes(fault, self.number, request.number)]
        instead = [fault for fault in struck if fault.kind == "answer"]
        shapes = {fault.name: fault for fault in struck if fault.kind == "shape"}
        if self.is_silent:
            answer.is_accepted &= self.is_silent == "accepted"
            answer.fault = "silent"
            gateway.keep(request, answer, is_answered=False)
        elif instead:
            answer.fault = instead[0].name
            self.strike(instead[0], request, answer, shapes)
        else:
            self.answer(request, answer, shapes)

    def judgement(self, request):
        """Returns Apple's answer."""
        authorization = request.values.get("authorization")
        if self.provider_token is None:
            self.provider_token = authorization
        self.has_two_tokens |= authorization != self.provider_token
        if "one-token" in self.faults and self.has_two_tokens:
            return Answer(429, "TooManyProviderTokenUpdates", "one-token")
        wrong = self.gateway.provider_token_fault(request, self.has_certificate)
        if wrong:
            return Answer(*wrong)
        given = self.gateway.answers.get(request.token)
        if given and given[-1]:
            status, reason, number, _ = given
            given[-1] -= 1
            return Answer(status, reason, is_accepted=status == 200, timestamp=number if status == 410 else None,
                          retry_after=number if status != 410 else None)
        wrong = http2checks.fault(request.headers, request.payload, self.topics, self.has_certificate)
        return Answer(*wrong) if wrong else Answer(200, is_accepted=True)

    # --- sending ---

    def answer(self, request, answer, shapes):
        self.gateway.keep(request, answer)
        self.highest = max(self.highest, request.stream)
        self.recent.append(request.stream)
        if answer.is_accepted:
            self.accepted += 1
            self.allow(self.limit_max)
        late = shapes["slow"].number(1000) if "slow" in shapes else 0
        if late:
            self.later(late / 1000, lambda: self.say(request, answer, shapes))
        else:
            self.say(request, answer, shapes)

    def say(self, request, answer, shapes):
        stream, connection = request.stream, self.connection
        if stream not in self.open:
            return  # cancelled
        self.open.discard(stream)
        body = b"<html>Not today</html>" if answer.fault == "bad-gateway" else answer.body
        if "no-body" in shapes:
            body = b""
        elif "text-body" in shapes:
            body = b"No. {"
        elif "long-body" in shapes:
            body += b" " * (LONG_BODY_BYTES - len(body))
        headers = [(":status", str(answer.status))]
        if "no-id" not in shapes:
            headers.append(("apns-id", request.values.get("apns-id") or str(uuid.uuid4()).upper()))
        if answer.retry_after is not None:
            headers.append(("retry-after", str(answer.retry_after)))
        trailers = [("x-trailer", "one")] if "trailers" in shapes else None
        if "early-hints" in shapes:
            connection.send_headers(stream, [(":status", "103"), ("link", "</>")])
        if "no-end" in shapes:
            return connection.send_headers(stream, headers)
        is_whole = not body and not trailers
        connection.send_headers(stream, headers, end_stream=is_whole)
        if not is_whole:
            self.bodies[stream] = [body, 1 if "byte-body" in shapes else 16_384, trailers]
            self.send_body(stream)

    def send_body(self, stream):
        """Sends as much of the body as the windows take."""
        connection, entry = self.connection, self.bodies[stream]
        body, piece, trailers = entry
        while body:
            size = min(connection.local_flow_control_window(stream), piece, len(body), connection.max_outbound_frame_size)
            if size <= 0:
                entry[0] = body
                return
            connection.send_data(stream, body[:size], end_stream=size == len(body) and not trailers)
            body = body[size:]
        if trailers:
            connection.send_headers(stream, trailers, end_stream=True)
        del self.bodies[stream]

    # --- faults ---

    def strike(self, fault, request, answer, shapes):
        """Applies a fault that replaces the answer."""
        name, value = fault.name, fault.value
        described = re.match(r"(?:\[\w+\] )?(\d{3}) (\w+)", FAULTS[name][1])
        if name == "answer":
            status, _, reason = (value or "500").partition(":")
            self.answer(request, Answer(int(status), reason or None, name, is_accepted=status == "200"), shapes)
        elif described:
            status, reason = described.groups()
            if value == "token":
                self.gateway.expire(request)
            self.answer(request, Answer(int(status), reason, name, retry_after=fault.retry_after), shapes)
            if name == "shutdown":
                self.depart(b"Shutdown", request.stream)
        else:
            getattr(self, "_" + name.split("-")[0])(fault, request, answer, shapes)

    def without_answer(self, request, answer, is_accepted):
        """Records the request, and never answers it."""
        answer.is_accepted &= is_accepted
        self.accepted += answer.is_accepted
        self.highest = max(self.highest, request.stream)
        self.recent.append(request.stream)
        self.gateway.keep(request, answer, is_answered=False)

    def _silent(self, fault, request, answer, shapes):
        self.is_silent = fault.value or "silent"
        self.without_answer(request, answer, fault.value == "accepted")

    def _stall(self, fault, request, answer, shapes):
        self.without_answer(request, answer, fault.value == "accepted")
        self.flush()
        self.gateway.note(self.number, "stall", accepted=self.accepted)
        self.gateway.stall()

    def _refuse(self, fault, request, answer, shapes):
        self.without_answer(request, answer, False)
        self.open.discard(request.stream)
        self.connection.reset_stream(request.stream, h2.errors.ErrorCodes.REFUSED_STREAM)

    def _reset(self, fault, request, answer, shapes):
        self.without_answer(request, answer, fault.value == "accepted")
        self.open.discard(request.stream)
        self.connection.reset_stream(request.stream, h2.errors.ErrorCodes.INTERNAL_ERROR)

    def _cut(self, fault, request, answer, shapes):
        if fault.name == "cut-after":
            self.answer(request, answer, shapes)
        else:
            self.without_answer(request, answer, fault.name == "cut-lost")
        self.close(fault.value, fault.name)

    def depart(self, reason, last_stream):
        words = json.dumps({"reason": reason.decode()}, separators=(",", ":")).encode() if reason else b""
        self.goaway(last_stream, 0, words)
        self.is_leaving = True

    def _goaway(self, fault, request, answer, shapes):
        name, value = fault.name, fault.value or ""
        if name == "goaway-refusing":
            self.without_answer(request, answer, False)
            self.open = {stream for stream in self.open if stream < request.stream}
            self.depart(value.encode() or b"Shutdown", max([one for one in self.recent if one < request.stream], default=0))
        elif name == "goaway-error":
            self.without_answer(request, answer, True)
            self.goaway(request.stream, fault.number(2), b'{"reason":"InternalServerError"}')
            self.close(None, name)
        elif name == "goaway-below":
            self.answer(request, answer, shapes)
            below = list(self.recent)[:-fault.number(10)]
            self.depart(b"Shutdown", below[-1] if below else 0)
        else:
            self.answer(request, answer, shapes)
            if name == "goaway-twice":
                self.goaway((1 << 31) - 1)
            self.depart(value.encode(), request.stream)

    def _lower(self, fault, request, answer, shapes):
        self.limit_max = fault.number(1)
        self.answer(request, answer, shapes)
        self.allow(self.limit_max)


def listed():
    kinds = {"answer": "faults instead of an answer; WHEN counts requests:",
             "shape": "other forms of an answer; WHEN counts requests:",
             "connection": "faults of a connection; WHEN counts connections:"}
    lines = []
    for kind, head in kinds.items():
        lines += ["", head] + [f"    {name:18}{what}" for name, (of, what) in FAULTS.items() if of == kind]
    return "\n".join(lines)


def arguments():
    parser = peer.parser(__doc__ + listed())
    parser.set_defaults(alpn="h2")
    parser.add_argument("--signing-key-public", metavar="PEM", help="verifies provider tokens")
    parser.add_argument("--key-id", metavar="ID")
    parser.add_argument("--team-id", metavar="ID")
    parser.add_argument("--token-lives", type=float, default=3600, metavar="SECONDS", help="how long a provider token is valid (3600)")
    parser.add_argument("--token-rests", type=float, default=1200, metavar="SECONDS", help="the least time between the issues of two provider tokens (1200)")
    parser.add_argument("--topic", action="append", default=[], metavar="TOPIC",
                        help="an allowed topic, without a push type's suffix; default: the certificate's, else any")
    parser.add_argument("--answer", action="append", default=[], metavar="ANSWER")
    parser.add_argument("--fault", action="append", default=[], metavar="FAULT")
    given = parser.parse_args()
    given.optional |= bool(given.signing_key_public)
    return given


if __name__ == "__main__":
    peer.run(lambda: Gateway(arguments()), "http2gateway", heeds_stdin=True)
