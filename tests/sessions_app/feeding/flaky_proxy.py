"""A real HTTP server in front of the site that does to requests what networks and proxies do to them."""

import http.client
import random
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# What becomes of a request. "lost" is the worst: the site did it, and nobody was told.
FATES = (*["pass"] * 12, "busy", "down", "gone", "timeout", "cut", "lost", "half")
STATUSES = {"busy": 429, "down": 503, "timeout": 408}


class Proxy:
    """Forwards to the site at `url`, or not, by chance; `fates` is what became of each request."""

    def __init__(self, url, seed):
        self.fates = []
        self._chance = random.Random(seed)
        self._site = urlsplit(url)
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def next_fate(self):
        with self._lock:
            self.fates.append(self._chance.choice(FATES))
            return self.fates[-1]

    def forward(self, method, path, headers, body):
        site = http.client.HTTPConnection(self._site.hostname, self._site.port, timeout=60)
        try:
            site.request(method, path, body, {name: headers[name] for name in ("Authorization", "Content-Type")})
            answer = site.getresponse()
            return answer.status, answer.read()
        finally:
            site.close()

    def stop(self):
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _handler(self):
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.close_connection = True
                body = self.rfile.read(int(self.headers["content-length"] or 0))
                with suppress(BrokenPipeError, ConnectionResetError):
                    self.treat(proxy.next_fate(), body)

            def do_GET(self):
                self.close_connection = True
                self.headers["content-type"] = "application/json"
                self.answer(*proxy.forward("GET", self.path, self.headers, None))

            def treat(self, fate, body):
                if fate in STATUSES:
                    after = {"Retry-After": "0.01"} if fate == "busy" else {}
                    self.answer(STATUSES[fate], b"<html>no</html>", headers=after)
                elif fate != "gone":
                    status, told = proxy.forward("POST", self.path, self.headers, body)
                    if fate == "pass":
                        self.answer(status, told)
                    elif fate == "half":
                        self.answer(status, told[: len(told) // 2], len(told))
                    elif fate == "cut":
                        self.wfile.write(b"HTTP/1.1 200")

            def answer(self, status, body, length=None, headers=()):
                self.send_response(status)
                for name, value in dict(headers).items():
                    self.send_header(name, value)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(length or len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        return Handler


@contextmanager
def flaky(url, seed):
    proxy = Proxy(url, seed)
    try:
        yield proxy
    finally:
        proxy.stop()
