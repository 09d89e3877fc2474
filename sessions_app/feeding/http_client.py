"""Asking the site's API as a program does that must not lose anything: it asks again until it is answered.

Repeating is safe because everything sent carries ids of ours. A connection that is lost or refused, 408, 429 and
passing server errors are asked again, with waits that grow and are spread by chance; a site that says when to come back
is taken at its word. Whatever else is answered ends the session's play: sending it again would not change it.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

from compaction.endpoints.retrying import RetryRules, is_retryable, retry_after_seconds, wait_seconds
from sessions_app.feeding.figures import Figures

TIME_LIMITS: Final = httpx.Timeout(30.0, connect=5.0)
WAITS: Final = RetryRules(first_wait_seconds=0.2, longest_wait_seconds=3.0)
PATIENCE_SECONDS: Final = 120.0
TOO_MANY_REQUESTS: Final = 429
# An error's text is told in a line.
LONGEST_DETAIL: Final = 300


class FeedFailed(Exception):
    """A session can't be fed any further; the message is a sentence for people."""


class FeedStopped(Exception):
    """The feed was asked to stop."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where to feed. url: of the site, without the API's part. patience_seconds: how long one request is tried."""

    url: str
    token: str
    patience_seconds: float = PATIENCE_SECONDS


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that was wanted. seconds: of the attempt that got it."""

    value: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True, slots=True)
class Missed:
    """An attempt that came to nothing and may be made again. cause: in a word."""

    cause: str
    detail: str
    retry_after_seconds: float | None = None


class FeedClient:
    """Asks one site, for any number of sessions at once. `stop` ends every wait."""

    def __init__(self, target: Target, figures: Figures, stop: asyncio.Event, at_once: int) -> None:
        self._target = target
        self._figures = figures
        self._stop = stop
        self._http = httpx.AsyncClient(
            base_url=target.url.rstrip("/") + "/api/v1",
            headers={"Authorization": f"Bearer {target.token}"},
            timeout=TIME_LIMITS,
            limits=httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once),
            trust_env=False,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def get(self, path: str) -> Answered:
        """Fetch an object. Raises FeedFailed, FeedStopped."""
        return await self._ask("GET", path, None)

    async def post(self, path: str, body: bytes) -> Answered:
        """Send a JSON body that may safely be sent again. Raises FeedFailed, FeedStopped."""
        return await self._ask("POST", path, body)

    async def pause(self, seconds: float) -> None:
        """Wait. Raises FeedStopped as soon as the feed is asked to stop."""
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except TimeoutError:
            return
        raise FeedStopped

    async def _ask(self, method: str, path: str, body: bytes | None) -> Answered:
        give_up_at = time.monotonic() + self._target.patience_seconds
        attempt = 0
        while True:
            if self._stop.is_set():
                raise FeedStopped
            outcome = await self._attempt(method, path, body)
            if isinstance(outcome, Answered):
                return outcome
            attempt += 1
            self._figures.retries[outcome.cause] += 1
            wait = wait_seconds(WAITS, attempt, outcome.retry_after_seconds, random.random())
            if outcome.cause == str(TOO_MANY_REQUESTS):
                # The site is well, it only counts; that is no reason to lose patience.
                give_up_at += wait
            if time.monotonic() + wait > give_up_at:
                raise FeedFailed(f"{method} {path} came to nothing in {attempt} attempts; at last: {outcome.detail}")
            await self.pause(wait)

    async def _attempt(self, method: str, path: str, body: bytes | None) -> Answered | Missed:
        headers = {} if body is None else {"Content-Type": "application/json"}
        started = time.perf_counter()
        try:
            response = await self._http.request(method, path, content=body, headers=headers)
        except httpx.TransportError as error:
            cause = "timeout" if isinstance(error, httpx.TimeoutException) else "connection"
            return Missed(cause, f"{cause} ({str(error) or type(error).__name__})")
        seconds = time.perf_counter() - started
        if is_retryable(response.status_code):
            after = retry_after_seconds(response.headers, time.time())
            return Missed(str(response.status_code), told_by(response), after)
        if not response.is_success:
            raise FeedFailed(f"{method} {path} was refused: {told_by(response)}")
        return Answered(object_of(response), seconds)


def object_of(response: httpx.Response) -> Mapping[str, Any]:
    """The JSON object of an answer. Raises FeedFailed for anything else: then this is no such site."""
    try:
        value = response.json()
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise FeedFailed(f"{response.url} did not answer with JSON: is there another site at this address?")
    return value


def told_by(response: httpx.Response) -> str:
    """An error answer in a line: its status and what the site says of it."""
    try:
        told = json.loads(response.text)
        fields = "; ".join(f"{field['path']}: {field['message']}" for field in told["fields"])
        text = " ".join(part for part in (told["detail"], fields) if part)
    except (ValueError, TypeError, KeyError):
        text = response.reason_phrase
    return f"{response.status_code} {text}"[:LONGEST_DETAIL]
