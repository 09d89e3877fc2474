"""A client of the gateway, and what its messages look like."""

import json
import threading

import httpx

from sessions_app.models import MessageRow, Session

PATIENCE_SECONDS = 20


def user(text, **more):
    return {"role": "user", "content": text, **more}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def call(call_id, name="look", arguments="{}"):
    calls = [{"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id, text):
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def chunk(delta=None, reason=None, index=0, **more):
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "served",
        "choices": [{"index": index, "delta": delta or {}, "finish_reason": reason}],
        **more,
    }


def streamed(*texts, reason="stop"):
    """The events of a stream with these words."""
    return (chunk({"role": "assistant"}), *(chunk({"content": text}) for text in texts), chunk(reason=reason), "[DONE]")


class GatewayClient:
    """Posts chat completions with one token."""

    def __init__(self, site, token, upstream):
        self.site, self.token, self.upstream = site, token, upstream
        self.http = httpx.Client(timeout=PATIENCE_SECONDS)

    def headers(self, session=None, **more):
        named = {} if session is None else {"X-Hermes-Session": session}
        return {"Authorization": f"Bearer {self.token}", **named, **more}

    def post(self, *messages, session=None, headers=None, content=None, **fields):
        body = {"model": "big", "messages": list(messages), **fields}
        return self.http.post(
            f"{self.site}/v1/chat/completions",
            headers={**self.headers(session), **(headers or {})},
            content=json.dumps(body) if content is None else content,
        )

    def get(self, path):
        return self.http.get(self.site + path, headers=self.headers())

    @property
    def sent(self):
        """The messages that went upstream last."""
        return self.upstream.asked[-1].body["messages"]


def session_of(answer):
    return Session.objects.get(public_id=answer.headers["X-Hermes-Session"])


def rows_of(session, **filters):
    return list(MessageRow.objects.filter(session=session, kind="message", **filters).order_by("position"))


def texts_of(session, **filters):
    return [row.content for row in rows_of(session, **filters)]


def live_texts(session):
    return texts_of(session, died_seq__isnull=True)


def end_gateway_threads():
    """Wait until what the last requests began is done."""
    for thread in threading.enumerate():
        if thread.name == "gateway":
            thread.join(PATIENCE_SECONDS)
