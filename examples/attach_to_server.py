"""Debugs a web server that is running already, by its process id, and leaves it serving.

    make serve                             # in another terminal
    python examples/attach_to_server.py    # any Python 3.8 or newer, nothing to install

The server here is a plain one of the standard library, started as you would start yours: without a debugger.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request

API = os.environ.get("OPENCODE_DEBUG_API", "http://127.0.0.1:5679/api/v1")

SERVER = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PRICES = {"apple": 3, "pear": 5}

class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        total = PRICES[self.path.strip("/")]
        text = str(total).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
print(server.server_port, flush=True)
server.serve_forever()
"""


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["data"]


def ask_shop(port, answers):
    answers.append(urllib.request.urlopen(f"http://127.0.0.1:{port}/pear").read().decode())


def main(folder):
    script = os.path.join(folder, "shop.py")
    with open(script, "w") as file:
        file.write(SERVER)
    shop = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE)
    try:
        port = int(shop.stdout.readline())

        (found,) = call("GET", "/processes?filter=" + script)["items"]
        print(f"found: process {found['pid']}, Python {found['python_version']}")

        session = "/sessions/" + call("POST", "/sessions", {"mode": "attach", "pid": found["pid"]})["session_id"]
        line = SERVER[: SERVER.index("text = ")].count("\n") + 1
        call("POST", session + "/breakpoints", {"file": script, "line": line})

        answers = []
        customer = threading.Thread(target=ask_shop, args=(port, answers))
        customer.start()
        stop = call("GET", session + "/report?wait=30")
        place = stop["current_location"]
        print(f"stopped: line {place['line']}, in {place['function']}")
        print("total is", call("POST", session + "/evaluate", {"expression": "total"})["result"])

        call("POST", session + "/evaluate", {"expression": "total = 1"})
        call("POST", session + "/detach")
        customer.join()
        print("the customer was told:", answers[0])

        ask_shop(port, answers)
        print("the next one:", answers[1])
        call("DELETE", session)
    finally:
        shop.terminate()
        shop.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(folder)
