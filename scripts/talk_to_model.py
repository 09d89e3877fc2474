"""A conversation with a real model through the gateway, with its passes written by a real model: how do they fare?

    python scripts/talk_to_model.py --site http://127.0.0.1:8000 --token SECRET --model-url http://127.0.0.1:8080/v1 \\
        --model NAME [--window 4096] [--turns 30]

The token's project gets new settings: micro passes, a main model and a summarizer, both at --model-url. For an address
on this machine the site must allow it (HERMES_SITE_OUTBOUND_LOOPBACK=1). The client keeps and sends its whole history,
which soon is larger than the window: whether the conversation goes on is up to compaction. Printed are each turn, and
at the end the outcomes of the passes, how long replies and passes took, and the occupancy. Ends with 1 when a request
failed or a row was stored twice or not at all.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

try:
    from openai import APIError, OpenAI
except ModuleNotFoundError:
    sys.exit(
        "The openai package is missing. `make test` and `make check` install it into .venv (requirements-dev.txt);"
        " then run this script with .venv/bin/python."
    )

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

SYSTEM = "You help to run a small library. Answer in two or three plain sentences."
SUBJECTS = ("the reading room", "late returns", "the children's shelf", "the card index", "the summer fair", "the roof")
ASKED = (
    "What should we do first about {}?",
    "Who ought to be told about {}, and when?",
    "Write down what {} costs us in a year; take 1,{}0 euros as given.",
    "Somebody asked about {} again, ticket LIB-{}. What do we answer?",
    "Sum up what we decided about {} so far.",
)
ANSWER_TOKENS = 120


@dataclass(frozen=True, slots=True)
class Place:
    """Where the model is asked, and how much it reads."""

    url: str
    model: str
    window_tokens: int

    def settings(self) -> dict[str, Any]:
        """The project's settings."""
        endpoint = {"base_url": self.url, "model": self.model}
        return {
            "compression": {
                "enabled": True,
                "micro_compact": True,
                "threshold": 0.6,
                "threshold_floor": False,
                "target_ratio": 0.25,
                "protect_first_n": 1,
                "finalize_wait_seconds": 120,
            },
            "auxiliary": {"compression": {**endpoint, "context_length": self.window_tokens, "timeout": 120}},
            "model": {
                "default": self.model,
                "base_url": self.url,
                "context_length": self.window_tokens,
                "max_tokens": ANSWER_TOKENS,
            },
        }


def question(number: int) -> str:
    """What the person says in turn `number`: always something else, with a figure to be kept."""
    subject = SUBJECTS[number % len(SUBJECTS)]
    return f"Turn {number}. " + ASKED[number % len(ASKED)].format(subject, 200 + number)


class Conversation:
    """A client that keeps its whole history."""

    def __init__(self, site: str, token: str, place: Place) -> None:
        self._client = OpenAI(base_url=f"{site}/v1", api_key=token, max_retries=0, timeout=600)
        self._place = place
        self.history: list[ChatCompletionMessageParam] = [{"role": "system", "content": SYSTEM}]
        self.session = ""
        self.failures: list[str] = []
        self.reply_seconds: list[float] = []

    def turn(self, number: int) -> None:
        """Say something and take the answer; a failure is noted and the turn left without one."""
        self.history.append({"role": "user", "content": question(number)})
        started = time.monotonic()
        try:
            raw = self._client.chat.completions.with_raw_response.create(
                model=self._place.model, messages=self.history, max_tokens=ANSWER_TOKENS
            )
        except APIError as error:
            self.failures.append(f"turn {number}: {error}")
            return
        self.session = raw.headers.get("x-hermes-session", self.session)
        self.reply_seconds.append(time.monotonic() - started)
        self.history.append({"role": "assistant", "content": raw.parse().choices[0].message.content or ""})


def report(api: httpx.Client, talk: Conversation) -> list[str]:
    """The figures for people."""
    facts = api.get(f"/sessions/{talk.session}").raise_for_status().json()
    passes = _passes(api, talk.session)
    rows = [row for row in _rows(api, talk.session) if row["kind"] == "message"]
    outcomes = Counter(f"{one['kind']} {one['outcome']}" for one in passes)
    took = [one["duration_ms"] / 1000 for one in passes if one["duration_ms"] is not None]
    occupancy = [one["occupancy_pct"] for one in passes if one.get("occupancy_pct") is not None]
    return [
        f"session {talk.session}: {len(rows)} message rows, the client's history has {len(talk.history)} messages",
        f"failed requests: {len(talk.failures)}",
        f"passes: {', '.join(f'{name} {count}' for name, count in sorted(outcomes.items())) or 'none'}",
        f"reply, seconds: {_spread(talk.reply_seconds)}; pass, seconds: {_spread(took)}",
        f"occupancy after passes, % of the threshold: {_spread(occupancy)}; tokens now: {facts.get('live_tokens')}",
    ]


def _passes(api: httpx.Client, session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    before: int | None = None
    while True:
        asked = {} if before is None else {"before": before}
        page = api.get(f"/sessions/{session}/passes", params=asked).raise_for_status().json()
        found, before = found + page["passes"], page["next"]
        if before is None:
            return found


def _rows(api: httpx.Client, session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after: str | None = ""
    while after is not None:
        page = api.get(f"/sessions/{session}/rows", params={"limit": 200, "after": after}).raise_for_status().json()
        found += page["rows"]
        after = page["next"]
    return found


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "unknown"
    return f"median {statistics.median(values):.1f} (smallest {min(values):.1f}, largest {max(values):.1f})"


def main() -> int:
    """Talk, then tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--site", "--token", "--model-url", "--model"):
        parser.add_argument(name, required=True)
    parser.add_argument("--window", type=int, default=4096, help="tokens the model reads (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=30, help="default: %(default)s")
    given = parser.parse_args()
    place = Place(given.model_url, given.model, given.window)
    headers = {"Authorization": f"Bearer {given.token}"}
    with httpx.Client(base_url=f"{given.site}/api/v1", headers=headers, timeout=60) as api:
        slug = api.get("/projects").raise_for_status().json()["projects"][0]["slug"]
        api.put(f"/projects/{slug}/settings", json=place.settings()).raise_for_status()
        talk = Conversation(given.site, given.token, place)
        for number in range(1, given.turns + 1):
            talk.turn(number)
            shown = talk.reply_seconds[-1] if talk.reply_seconds else 0
            print(f"turn {number}: {shown:.1f} s, {len(talk.history)} messages in the client's history", flush=True)
        lines = report(api, talk)
    print("\n".join([*talk.failures, *lines]))
    return 1 if talk.failures else 0


if __name__ == "__main__":
    sys.exit(main())
