"""Chromium without a window, driven by its developer protocol over two pipes."""
import base64
import json
import os
import subprocess
import tempfile


class Chromium:
    def __init__(self, *arguments):
        self.profile = tempfile.TemporaryDirectory(prefix="chromium-")
        reading, self.output = os.pipe()
        self.input, writing = os.pipe()

        def place():
            # The browser takes commands from descriptor 3, and answers on descriptor 4.
            ends = os.dup(reading), os.dup(writing)
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}",
             *arguments, "about:blank"],
            pass_fds=(3, 4), preexec_fn=place, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(reading)
        os.close(writing)
        self.number = 0
        self.pending = b""
        self.events = []

    def close(self):
        self.call("Browser.close")
        self.process.wait()
        self.profile.cleanup()

    def receive(self):
        while b"\0" not in self.pending:
            more = os.read(self.input, 1 << 16)
            if not more:
                raise SystemExit("Chromium has ended")
            self.pending += more
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        """Calls a method and returns its result."""
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def event(self, method, condition=lambda parameters: True):
        """Waits for an event and returns its parameters."""
        while True:
            for event in self.events:
                if event.get("method") == method and condition(event["params"]):
                    self.events.remove(event)
                    return event["params"]
            self.events.append(self.receive())


class Tab:
    """A tab with a profile of its own, as large as the screen of a phone."""

    def __init__(self, browser, script="", agent=None, permission="prompt", origin="", dark=False):
        self.browser = browser
        self.context = browser.call("Target.createBrowserContext")["browserContextId"]
        browser.call("Browser.setPermission", permission={"name": "notifications"}, setting=permission, origin=origin,
                     browserContextId=self.context)
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "ServiceWorker":
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
        if dark:
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        if agent:
            self.call("Emulation.setUserAgentOverride", userAgent=agent)
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def close(self):
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.browser.event("Page.loadEventFired")

    def value(self, expression, session=None):
        """Returns the value of an expression, or of its promise."""
        answer = self.browser.call("Runtime.evaluate", session or self.session, expression=expression, awaitPromise=True,
                                   returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def until(self, expression):
        """Waits until the page changes so that the expression is true."""
        self.value(f"""new Promise((done) => {{
          const look = async () => (await ({expression})) ? done() : setTimeout(look, 20);
          look();
        }})""")

    def picture(self, path):
        height = self.value("document.documentElement.scrollHeight")
        self.call("Emulation.setDeviceMetricsOverride", width=390, height=max(844, height), deviceScaleFactor=2,
                  mobile=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def complaints(self):
        """Returns what the console has: mistakes of scripts, and what the policy has kept out."""
        found = []
        for event in self.browser.events:
            parameters = event.get("params", {})
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(parameters["exceptionDetails"])[:300])
            if event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return found
