# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium by the WebDriver protocol (https://www.w3.org/TR/webdriver2/): Debian's
packages chromium and chromium-driver."""
import base64
import json
import shutil
import subprocess
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def present():
    return shutil.which("chromedriver") and shutil.which("chromium")


class Browser:
    def __init__(self, width=1240, height=1400):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                self.url = "http://127.0.0.1:" + line.split("port ")[1].strip(" .\n")
                break
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu",
                            f"--window-size={width},{height}"]}
        made = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.url += f"/session/{made['sessionId']}"

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, path):
        self.ask("POST", "/url", {"url": path.resolve().as_uri()})

    def run(self, script, *arguments):
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def press(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]})

    def log(self, kind="browser"):
        return self.ask("POST", "/se/log", {"type": kind})

    def screenshot(self):
        return base64.b64decode(self.ask("GET", "/screenshot"))

    def close(self):
        try:
            self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
