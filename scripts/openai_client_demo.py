"""The OpenAI client against the gateway: a long conversation with tool calls, streamed, while the session is compacted.

    python scripts/openai_client_demo.py [--turns N]
    python scripts/openai_client_demo.py --site http://127.0.0.1:8000 --token SECRET [--turns N]

Without --site a site of its own is started, web process and worker, on a database that is dropped afterwards. With it
the token's project gets new settings: a small window, micro passes, and a main model whose words are scripted; the site
must allow requests to this machine (HERMES_SITE_OUTBOUND_LOOPBACK=1). The client knows nothing of compaction: it keeps
and sends its whole history. Afterwards every message must be stored once and in order, what went to the main model must
be smaller than what the client sent, and no request may have broken a rule of providers; else the script ends with 1.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

try:
    from openai import OpenAI
except ModuleNotFoundError:
    sys.exit(
        "The openai package is missing. `make test` and `make check` install it into .venv (requirements-dev.txt);"
        " then run this script with .venv/bin/python."
    )

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from scripted_model import Received, ScriptedModel, read_messages  # noqa: E402 (the checkout is on the path now)

from compaction.tokens import RoughCounter, row_tokens  # noqa: E402

COUNTER = RoughCounter()
WINDOW_TOKENS = 16_000
PATIENCE_SECONDS = 60
SYSTEM = "You maintain a code base. Read files before you answer, and answer in one sentence."
COMPRESSION = {
    "enabled": True,
    "micro_compact": True,
    "threshold_floor": False,
    "threshold": 0.5,
    "target_ratio": 0.15,
    "finalize_wait_seconds": 30,
}
TOOLS: list[ChatCompletionToolParam] = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "The text of a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
]


class DemoFailed(Exception):
    """Something is not as it must be."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of a conversation. Tokens are estimated, of messages alone."""

    turns: int
    requests: int
    messages: int
    client_tokens: int
    sent: tuple[Received, ...]
    stored_rows: int
    passes: tuple[tuple[str, int], ...]
    seconds: float
    session: str

    def lines(self) -> Iterator[str]:
        """The figures for people."""
        last, largest = self.sent[-1], max(one.tokens for one in self.sent)
        yield f"{self.turns} turns, {self.requests} requests in {self.seconds:.1f} s; session {self.session}"
        yield f"client: {self.messages} messages, {self.client_tokens:,} tokens; stored: {self.stored_rows} rows"
        share = 100 * last.tokens / self.client_tokens
        yield f"last request upstream: {last.messages} messages, {last.tokens:,} tokens ({share:.0f} % of the client's)"
        yield f"largest request upstream: {largest:,} tokens; requests that broke a rule of providers: 0"
        yield "passes: " + ", ".join(f"{kind} {count}" for kind, count in self.passes)


class Talker:
    """An agent that keeps its whole history, as most do."""

    def __init__(self, site: str, token: str) -> None:
        self._client = OpenAI(base_url=f"{site}/v1", api_key=token, max_retries=0, timeout=PATIENCE_SECONDS)
        self.history: list[ChatCompletionMessageParam] = [{"role": "system", "content": SYSTEM}]
        self.requests = 0
        self.session = ""

    def turn(self, number: int) -> None:
        """Ask something, do what the model wants done, take its answer."""
        question = f"Turn {number}: what does part {number} do? " + "Be exact. " * 5
        self.history.append({"role": "user", "content": question})
        for call in self._ask():
            text = f"# part {number} of the code\n" + f"def step_{number}(value): return value + {number}\n" * 8
            self.history.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        if self._ask():
            raise DemoFailed(f"turn {number}: the answer calls a tool once more")

    def _ask(self) -> list[dict[str, Any]]:
        """One request, streamed; returns the calls of the answer, which is put into the history."""
        self.requests += 1
        text = ""
        calls: dict[int, dict[str, Any]] = {}
        with self._client.chat.completions.with_streaming_response.create(
            model="scripted", messages=self.history, tools=TOOLS, stream=True, stream_options={"include_usage": True}
        ) as raw:
            self._note_session(raw.headers.get("x-hermes-session", ""))
            for chunk in raw.parse():
                for choice in chunk.choices[:1]:
                    text += choice.delta.content or ""
                    for piece in choice.delta.tool_calls or ():
                        call = calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
                        call["id"] += piece.id or ""
                        call["name"] += (piece.function and piece.function.name) or ""
                        call["arguments"] += (piece.function and piece.function.arguments) or ""
        self._remember(text, list(calls.values()))
        return list(calls.values())

    def _note_session(self, session: str) -> None:
        if self.session and session != self.session:
            raise DemoFailed(f"the conversation was taken for another one: {self.session}, then {session}")
        self.session = session

    def _remember(self, text: str, calls: list[dict[str, Any]]) -> None:
        if not calls:
            self.history.append({"role": "assistant", "content": text})
            return
        told = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in calls
        ]
        self.history.append({"role": "assistant", "tool_calls": told})  # type: ignore[typeddict-item]  # built from plain parts


def converse(site: str, token: str, turns: int) -> Figures:
    """A conversation through the gateway of `site`, checked. Raises DemoFailed when something is not as it must be."""
    model = ScriptedModel(COUNTER)
    try:
        with httpx.Client(base_url=f"{site}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=30) as api:
            set_up(api, model.url)
            talker, started = Talker(site, token), time.monotonic()
            for number in range(1, turns + 1):
                talker.turn(number)
            seconds = time.monotonic() - started
            rows = stored_rows(api, talker.session)
            passes = committed_passes(api, talker.session)
    finally:
        model.stop()
    told = read_messages([dict(message) for message in talker.history])
    check(talker, model.received, rows)
    return Figures(
        turns=turns,
        requests=talker.requests,
        messages=len(told),
        client_tokens=sum(row_tokens(message, COUNTER) for message in told),
        sent=tuple(model.received),
        stored_rows=len(rows),
        passes=passes,
        seconds=seconds,
        session=talker.session,
    )


def set_up(api: httpx.Client, model_url: str) -> None:
    """Give the token's project a small window, micro passes and the scripted model."""
    slug = api.get("/projects").raise_for_status().json()["projects"][0]["slug"]
    model = {"default": "scripted", "base_url": model_url, "context_length": WINDOW_TOKENS}
    api.put(f"/projects/{slug}/settings", json={"compression": COMPRESSION, "model": model}).raise_for_status()


def stored_rows(api: httpx.Client, session: str) -> list[dict[str, Any]]:
    """All message rows of the session, live or archived, in order."""
    rows: list[dict[str, Any]] = []
    after = ""
    while True:
        page = api.get(f"/sessions/{session}/rows", params={"limit": 200, "after": after}).raise_for_status().json()
        rows += [row for row in page["rows"] if row["kind"] == "message"]
        if page["next"] is None:
            return rows
        after = page["next"]


def committed_passes(api: httpx.Client, session: str) -> tuple[tuple[str, int], ...]:
    facts = api.get(f"/sessions/{session}").raise_for_status().json()
    return tuple((kind, facts["passes"][kind]) for kind in ("micro", "defrag", "batch", "prune"))


def check(talker: Talker, received: list[Received], rows: list[dict[str, Any]]) -> None:
    """Everything that must hold after the conversation."""
    told = read_messages([dict(message) for message in talker.history[1:]])
    stored = read_messages([row["message"] for row in rows])
    said = [(message.role, message.text, message.tool_calls, message.tool_call_id) for message in told]
    kept = [(message.role, message.text, message.tool_calls, message.tool_call_id) for message in stored]
    if said != kept:
        raise DemoFailed(f"the client has {len(said)} messages, stored are {len(kept)} rows, or others than it has")
    for number, one in enumerate(received, 1):
        if one.broken_rules:
            raise DemoFailed(f"request {number} upstream broke rules: {', '.join(one.broken_rules)}")
    if received[-1].messages >= len(told):
        raise DemoFailed(f"the last request upstream still had {received[-1].messages} of {len(told)} messages")


@contextmanager
def own_site() -> Iterator[tuple[str, str]]:
    """A site that is thrown away afterwards: its address and a token."""
    from scratch_site import scratch_site

    os.environ["HERMES_SITE_OUTBOUND_LOOPBACK"] = "1"
    with scratch_site():
        from sessions_app import services
        from sessions_app.services.tokens import issue_token

        token = issue_token(services.create_project("demo", "Demo"), "demo", may_write=True).secret
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        web = [sys.executable, "-m", "uvicorn", "hermes_site.asgi:application", "--port", str(port)]
        web += ["--lifespan", "off", "--log-level", "warning", "--no-access-log"]
        worker = [sys.executable, "manage.py", "worker"]
        processes = [subprocess.Popen(command, cwd=CHECKOUT, stderr=subprocess.DEVNULL) for command in (web, worker)]
        try:
            wait_for(f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}", token
        finally:
            for process in processes:
                process.terminate()
                process.wait(PATIENCE_SECONDS)


def wait_for(site: str) -> None:
    """Return when the site answers and a worker is there."""
    from procrastinate.contrib.django.models import ProcrastinateWorker

    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with suppress(httpx.HTTPError):
            if httpx.get(f"{site}/v1/models").status_code == 401 and ProcrastinateWorker.objects.exists():
                return
        time.sleep(0.1)
    raise DemoFailed("the site did not come up")


def main() -> int:
    """Run as the usage says; the status is 1 when something is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--site", help="address of a running site, without a slash at the end")
    parser.add_argument("--token", help="token of one of its projects that may write")
    given = parser.parse_args()
    if bool(given.site) != bool(given.token):
        parser.error("--site and --token go together")
    try:
        if given.site:
            figures = converse(given.site.rstrip("/"), given.token, given.turns)
        else:
            with own_site() as (site, token):
                figures = converse(site, token, given.turns)
    except DemoFailed as failed:
        print(failed, file=sys.stderr)
        return 1
    print("\n".join(figures.lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
