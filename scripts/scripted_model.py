"""A chat completions endpoint on the loopback interface whose words are scripted: a main model without a model.

Asked by a user it calls a tool, told the tool's result it answers in words, always as a stream if it is asked for one.
What it was sent is held against the rules of providers, and counted.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from compaction.messages import Message
from compaction.provider_rules import violations
from compaction.tokens import TokenCounter, row_tokens
from compaction.wire import message_from_openai

WORDS_IN_A_PIECE = 6


@dataclass(frozen=True, slots=True)
class Received:
    """One question: its messages, their tokens, and the provider rules it broke."""

    messages: int
    tokens: int
    broken_rules: tuple[str, ...]


def read_messages(mappings: Sequence[dict[str, Any]]) -> tuple[Message, ...]:
    return tuple(message_from_openai(mapping, lambda problem: None) for mapping in mappings)


class ScriptedModel:
    """The endpoint; `received` holds what it was asked, in order."""

    def __init__(self, counter: TokenCounter) -> None:
        self.received: list[Received] = []
        self._counter = counter
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        """The address for a client's `base_url`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def stop(self) -> None:
        """Listen no more."""
        self._http.shutdown()
        self._http.server_close()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The next message, and what was asked noted."""
        messages = read_messages(body["messages"])
        broken = tuple(f"{found.rule}: {found.detail}" for found in violations(messages))
        tokens = sum(row_tokens(message, self._counter) for message in messages)
        self.received.append(Received(len(messages), tokens, broken))
        last = body["messages"][-1]
        number = len(self.received)
        if last["role"] == "tool":
            return {"content": f"Answer {number}: {last['content'][:60]} … That settles it; nothing else is open here."}
        arguments = json.dumps({"path": f"src/part_{number}.py"})
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "read_file", "arguments": arguments}}
        return {"content": None, "tool_calls": [call]}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.close_connection = True
                message = model.answer(body)
                usage = {"prompt_tokens": model.received[-1].tokens, "completion_tokens": 20}
                is_streamed = body.get("stream") is True
                self.send_response(200)
                self.send_header("content-type", "text/event-stream" if is_streamed else "application/json")
                self.end_headers()
                for piece in _events(message, usage) if is_streamed else (_whole(message, usage),):
                    self.wfile.write(piece)
                    self.wfile.flush()

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        return Handler


def _reason(message: dict[str, Any]) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _whole(message: dict[str, Any], usage: dict[str, int]) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": _reason(message)}
    return json.dumps({**_frame("chat.completion"), "choices": [choice], "usage": usage}).encode()


def _events(message: dict[str, Any], usage: dict[str, int]) -> Iterator[bytes]:
    for delta in ({"role": "assistant"}, *_deltas(message)):
        yield _event({"index": 0, "delta": delta, "finish_reason": None})
    yield _event({"index": 0, "delta": {}, "finish_reason": _reason(message)})
    yield f"data: {json.dumps({**_frame('chat.completion.chunk'), 'choices': [], 'usage': usage})}\n\n".encode()
    yield b"data: [DONE]\n\n"


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for call in message.get("tool_calls", ()):
        arguments = call["function"]["arguments"]
        begun = {"index": 0, **call, "function": {"name": call["function"]["name"], "arguments": arguments[:5]}}
        yield {"tool_calls": [begun]}
        yield {"tool_calls": [{"index": 0, "function": {"arguments": arguments[5:]}}]}
    words = (message["content"] or "").split(" ")
    for start in range(0, len(words), WORDS_IN_A_PIECE):
        text = " ".join(words[start : start + WORDS_IN_A_PIECE])
        if text:
            yield {"content": text if start == 0 else f" {text}"}


def _event(choice: dict[str, Any]) -> bytes:
    return f"data: {json.dumps({**_frame('chat.completion.chunk'), 'choices': [choice]})}\n\n".encode()


def _frame(kind: str) -> dict[str, Any]:
    return {"id": "scripted", "object": kind, "created": 0, "model": "scripted"}
