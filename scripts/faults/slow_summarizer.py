"""A model server on the loopback interface that takes its time, so that passes are under way when something happens.

Speaks the chat completions dialect, as a stream. Answers by chance: mostly a summary that is one of a kind, now and
then an error or half an answer, as servers give them.
"""

from __future__ import annotations

import json
import random
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SHORTEST_SECONDS, LONGEST_SECONDS = 0.05, 0.8
FAILURES_PCT = 5


class SlowSummarizer:
    """The server, as soon as it is made; `asked` is how many questions came."""

    def __init__(self, seed: int) -> None:
        self.asked = 0
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(self))
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def settings(self) -> dict[str, Any]:
        """The `auxiliary:` block that names this server. Its calls need HERMES_SITE_OUTBOUND_LOOPBACK."""
        url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        return {"compression": {"provider": "custom", "model": "slow-model", "base_url": url}}

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def next_answer(self) -> tuple[float, bool, str]:
        """How long to take, whether to fail, and the summary."""
        with self._lock:
            self.asked += 1
            seconds = self._chance.uniform(SHORTEST_SECONDS, LONGEST_SECONDS)
            is_failing = self._chance.uniform(0, 100) < FAILURES_PCT
            facts = [f"- keep src/module_{self._chance.getrandbits(24):x}.py as it is" for _ in range(8)]
            return seconds, is_failing, "\n".join([f"## Key Decisions\n- answer {self.asked} stands", *facts])


def handler_for(server: SlowSummarizer) -> type[BaseHTTPRequestHandler]:
    """A handler that answers for `server`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            seconds, is_failing, text = server.next_answer()
            time.sleep(seconds)
            # Whoever asked may have been killed.
            with suppress(OSError):
                self._answer(is_failing, text)

        def _answer(self, is_failing: bool, text: str) -> None:
            if is_failing:
                self.send_error(503)
                return
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            delta = {"role": "assistant", "content": text}
            choice = {"index": 0, "delta": delta, "finish_reason": "stop"}
            chunk = {"id": "c", "model": "slow-model", "choices": [choice]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
