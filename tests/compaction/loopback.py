"""A real HTTP server on the loopback interface that answers as it is told, and a summarizer that asks it.

Each question takes the next answer of a script, the last one is repeated. An answer is a function of the handler, so it
can do anything a broken server does: say nothing, cut the line, send a page, never stop.
"""

import json
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.breaker import BreakerRules
from compaction.endpoints.endpoint import Dialect, Endpoint
from compaction.endpoints.gates import Gates
from compaction.endpoints.http_client import ClientSettings, HttpClient
from compaction.endpoints.http_connection import default_tls, resolve_name
from compaction.endpoints.retrying import RetryRules
from compaction.endpoints.timing import TimeLimits, Timing
from compaction.http_summarizer import HttpSummarizer
from compaction.summarizer import Purpose, SummaryRequest

SUMMARY = "## Key Decisions\n- keep src/app.py as it is"
KEY = "sk-loopback-0123456789abcdefghijkl"
REQUEST = SummaryRequest(Purpose.ABSORB, "You keep notes.", "Merge this.", "", (), 1_500, 2_500)


@dataclass
class Asked:
    """One question as it arrived."""

    path: str
    headers: dict
    body: dict


class Server:
    """The server; `asked` holds what came in. Answers are taken from `script` in turn."""

    def __init__(self, *script):
        self.script = list(script)
        self.asked = []
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def port(self):
        return self._http.server_address[1]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def encrypt(self, context):
        """Speak TLS from now on."""
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)

    def next_answer(self, asked):
        with self._lock:
            self.asked.append(asked)
            return self.script[min(len(self.asked), len(self.script)) - 1]

    def stop(self):
        self.stopped.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _handler(self):
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.stopped = server.stopped
                self.close_connection = True
                # The other side may have gone.
                with suppress(BrokenPipeError, ConnectionResetError):
                    server.next_answer(Asked(self.path, headers, json.loads(body)))(self)

            def log_message(self, *arguments):
                pass

        return Handler


@contextmanager
def serving(*script):
    server = Server(*script)
    try:
        yield server
    finally:
        server.stop()


# Answers


def raw(data, status=200, content_type="application/json", headers=(), announced=None):
    """An answer with these bytes as its body."""

    def answer(handler):
        handler.send_response(status)
        handler.send_header("content-type", content_type)
        handler.send_header("content-length", str(len(data) if announced is None else announced))
        for name, value in headers:
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def document(value, **fields):
    return raw(json.dumps(value).encode(), **fields)


def completion(text=SUMMARY, finish_reason="stop", usage=None, **message):
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish_reason}
    return document({"id": "c1", "model": "served-model", "choices": [choice], "usage": usage})


def failure(status, message="it went wrong", headers=(), **error):
    return document({"error": {"message": message, **error}}, status=status, headers=headers)


def events(*data, content_type="text/event-stream"):
    """A stream: each element is an event's data, or a function to call in between."""

    def answer(handler):
        handler.send_response(200)
        handler.send_header("content-type", content_type)
        handler.end_headers()
        for item in data:
            if callable(item):
                item()
                continue
            text = item if isinstance(item, str) else json.dumps(item)
            handler.wfile.write(f"data: {text}\n\n".encode())
            handler.wfile.flush()

    return answer


def silence(handler):
    """Say nothing until the server is stopped."""
    handler.stopped.wait(30)


def dripping(handler):
    """Begin an answer and send one byte of it now and then, for ever."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    while not handler.stopped.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def dripping_head(handler):
    """Never come to the end of the headers."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.stopped.wait(0.02):
        handler.wfile.write(b"x-more: 1\r\n")
        handler.wfile.flush()


def hang_up(handler):
    """Close the line without a word."""
    handler.connection.close()


def endless(handler):
    """An answer without end."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    while not handler.stopped.is_set():
        handler.wfile.write(b'{"choices": ' + b" " * 65_536)


# The side that asks


class FakeTime:
    """Time that passes only when somebody sleeps, or is told to."""

    def __init__(self):
        self.now = 1_000.0
        self.slept = []
        self.chance = 0.5

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    @property
    def timing(self):
        return Timing(lambda: self.now, lambda: self.now + 1_700_000_000, self.sleep, lambda: self.chance)


@dataclass
class Caller:
    """Everything one test's summarizer is made of; change a field before `summarizer` is called."""

    url: str
    time: FakeTime = field(default_factory=FakeTime)
    limits: TimeLimits = TimeLimits(5.0, 20.0, 20.0)
    retries: RetryRules = RetryRules()
    rules: OutboundRules = OutboundRules(allow_loopback=True, keys=("*@*",))
    gates: Gates = field(default_factory=lambda: Gates(BreakerRules(failures_to_open=100)))
    most_calls: int = 4
    most_body_bytes: int = 1024 * 1024
    key_env: str = ""
    model: str = "small-model"
    dialect: Dialect = Dialect.OPENAI
    environment: dict = field(default_factory=dict)
    resolve: object = resolve_name
    tls: object = default_tls
    real_time: bool = False
    is_streamed: bool = False

    def summarizer(self):
        settings = ClientSettings(self.limits, self.retries, self.most_calls, self.most_body_bytes)
        timing = Timing() if self.real_time else self.time.timing
        client = HttpClient(self.rules, settings, timing=timing, gates=self.gates, resolve=self.resolve, tls=self.tls)
        path = "messages" if self.dialect is Dialect.ANTHROPIC else "chat/completions"
        endpoint = Endpoint("custom", self.dialect, f"{self.url}/{path}", self.model, self.key_env)
        return HttpSummarizer(
            endpoint, self.rules, client=client, environment=self.environment, is_streamed=self.is_streamed
        )

    def ask(self, request=REQUEST):
        return self.summarizer().ask(request)


def ask(*script, request=REQUEST, **fields):
    """One question to a server with this script: the reply, the server and the caller."""
    with serving(*script) as server:
        caller = Caller(server.url, **fields)
        return caller.ask(request), server, caller
