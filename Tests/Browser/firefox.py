"""Firefox without a window, driven by Marionette, its protocol for tests."""
import json
import pathlib
import socket
import subprocess
import tempfile
import time


class Firefox:
    def __init__(self, port, settings):
        self.profile = tempfile.TemporaryDirectory(prefix="firefox-")
        settings = {
            "marionette.port": port,
            # Those for tests switch Web Push off.
            "remote.prefs.recommended": False,
            "app.update.enabled": False,
            "browser.shell.checkDefaultBrowser": False,
            "datareporting.policy.dataSubmissionEnabled": False,
            "network.captive-portal-service.enabled": False,
            "network.connectivity-service.enabled": False,
            "toolkit.telemetry.enabled": False,
            **settings,
        }
        lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items())
        pathlib.Path(self.profile.name, "user.js").write_text("".join(lines))
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--marionette", "--no-remote", "--profile", self.profile.name],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port))
                break
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    raise SystemExit("Firefox has ended") from None
                time.sleep(0.05)
        self.stream = self.socket.makefile("rb")
        self.number = 0
        self.receive()
        self.call("WebDriver:NewSession")
        self.call("WebDriver:SetTimeouts", script=60_000)

    def close(self):
        self.call("Marionette:Quit", flags=["eForceQuit"])
        self.process.wait()
        self.profile.cleanup()

    def receive(self):
        size = b""
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                raise SystemExit("Firefox has ended")
            size += byte
        return json.loads(self.stream.read(int(size)))

    def call(self, method, **parameters):
        self.number += 1
        message = json.dumps([0, self.number, method, parameters]).encode()
        self.socket.sendall(b"%d:%b" % (len(message), message))
        _, _, error, result = self.receive()
        if error:
            raise RuntimeError(f"{method}: {error['message']}")
        return result

    def open(self, address):
        self.call("WebDriver:Navigate", url=address)

    def value(self, expression):
        """Returns the value of an expression, or of its promise."""
        script = f"const done = arguments[0]; (async () => ({expression}))().then(done, (error) => done(String(error)))"
        return self.call("WebDriver:ExecuteAsyncScript", script=script, args=[])["value"]

    def click(self, selector):
        found = self.call("WebDriver:FindElement", using="css selector", value=selector)["value"]
        self.call("WebDriver:ElementClick", id=next(iter(found.values())))

    def until(self, expression):
        """Waits until the page changes so that the expression is true."""
        self.value(f"""await new Promise((done) => {{
          const look = async () => (await ({expression})) ? done() : setTimeout(look, 20);
          look();
        }})""")
