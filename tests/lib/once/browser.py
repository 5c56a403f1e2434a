# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium, driven by W3C WebDriver, over chromedriver's HTTP."""

import http.client
import json
import re
import shutil

from .bench import shared
from .folder import drop_folder, make_folder
from .process import Process
from .tap import Skip
from .wait import PATIENCE, Late, eventually

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
         "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage",
         # It ends when chromedriver does, however that ends.
         "--remote-debugging-pipe")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
TAB, ENTER, ESCAPE, SPACE = "\ue004", "\ue007", "\ue00c", " "
BACKSPACE = "\ue003"


class DriverError(AssertionError):
    """The driver refused a command."""


class Driver:
    """A chromedriver with one browser, which knows nothing of others."""

    def __init__(self):
        program = shutil.which("chromedriver")
        if not program or not shutil.which("chromium"):
            raise Skip("chromium and chromium-driver are not installed")
        self.folder = make_folder()
        self.process, self.port = self.start(program)
        flags = [*FLAGS, "--user-data-dir=" + self.folder]
        got = self.command("POST", "/session", {"capabilities": {
            "alwaysMatch": {
                "browserName": "chrome",
                "goog:chromeOptions": {
                    "binary": shutil.which("chromium"), "args": flags},
                "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = "/session/" + got["sessionId"]

    def start(self, program):
        """It takes any port for IPv6, and then the same one for IPv4, which
        somebody else may have by then."""
        for last in (False,) * 9 + (True,):
            process = Process([program, "--port=0"],
                              env={"LANG": "C.UTF-8", "TZ": "UTC",
                                   "HOME": self.folder})
            try:
                line = process.wait_for_line("started successfully on port")
                return process, int(re.search(r"on port (\d+)", line)[1])
            except Late:
                if last or not any("Address already in use" in line
                                   for line in process.lines):
                    raise

    def command(self, method, path, body=None):
        line = http.client.HTTPConnection("127.0.0.1", self.port,
                                          timeout=3 * PATIENCE)
        data = None if method == "GET" else json.dumps(body or {})
        line.request(method, path, data,
                     {"Content-Type": "application/json"})
        value = json.loads(line.getresponse().read())["value"]
        line.close()
        if isinstance(value, dict) and "error" in value:
            raise DriverError(f"{value['error']}: {value['message']}")
        return value

    def stop(self):
        try:
            self.command("DELETE", self.session)
        finally:
            self.process.kill()
            drop_folder(self.folder)


def new_window():
    """A new window in the browser that the program's tests share; the previous
    one is closed."""
    if "driver" not in shared:
        shared["driver"] = Driver()
    browser = Browser(shared["driver"])
    window = browser.command("POST", "window/new", {"type": "window"})
    browser.command("DELETE", "window")
    browser.command("POST", "window", {"handle": window["handle"]})
    browser.complaints()  # those of others
    return browser


class Browser:
    """A window with one page."""

    def __init__(self, driver):
        self.driver = driver

    def command(self, method, path, body=None):
        return self.driver.command(
            method, f"{self.driver.session}/{path}", body)

    def devtools(self, name, **parameters):
        return self.command("POST", "goog/cdp/execute",
                            {"cmd": name, "params": parameters})

    def open(self, url):
        self.command("POST", "url", {"url": url})

    def run(self, script, *args):
        """The value of a function's body."""
        return self.command("POST", "execute/sync",
                            {"script": script, "args": list(args)})

    def find(self, selector):
        """The first such element; a DriverError where there is none."""
        found = self.command("POST", "element", {
            "using": "css selector", "value": selector})
        return found[ELEMENT]

    def text(self, selector):
        return self.command("GET", f"element/{self.find(selector)}/text")

    def shows(self, selector):
        """Whether there is such an element, and it is visible."""
        return self.run("const e = document.querySelector(arguments[0]);"
                        "return e !== null && e.checkVisibility();", selector)

    def wait_for(self, selector):
        eventually(lambda: self.shows(selector), selector)

    def wait_text(self, selector, part):
        """Waits until the element's text has that part."""
        eventually(lambda: self.shows(selector)
                   and part in self.text(selector), f"{part!r} in {selector}")

    def click(self, selector):
        # What sticks to the window's edge does not cover it there.
        self.run("document.querySelector(arguments[0])"
                 ".scrollIntoView({block: 'center'});", selector)
        self.command("POST", f"element/{self.find(selector)}/click")

    def type(self, selector, text):
        self.command("POST", f"element/{self.find(selector)}/value",
                     {"text": text})

    def press(self, *keys):
        """Sends keys to whatever has the focus."""
        actions = [{"type": kind, "value": key} for key in keys
                   for kind in ("keyDown", "keyUp")]
        self.command("POST", "actions", {"actions": [
            {"type": "key", "id": "keyboard", "actions": actions}]})

    def focus(self):
        """A description of what has the focus."""
        return self.run(
            "const e = document.activeElement;"
            "return e.getAttribute('aria-label') || e.id"
            " || e.textContent.trim();")

    def size(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width,
                      height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, dark):
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme",
             "value": "dark" if dark else "light"}])

    def complaints(self):
        """Lines of the console since the last look: errors, warnings."""
        return [f"{e['level']}: {e['message']}"
                for e in self.command("POST", "se/log", {"type": "browser"})
                if e["level"] in ("SEVERE", "WARNING")]
