"""Asking a summarizer for one pass, and keeping what each call came to for the ledger.

Must not hold a transaction. Waits and repetitions within a call are the summarizer's own; a call that failed is a reply
like any other.
"""

from __future__ import annotations

import time
from dataclasses import replace

from compaction.summarizer import Reply, Summarizer, SummaryRequest
from sessions_app import clock
from sessions_app.models import CallPurpose
from sessions_app.pricing import cost_usd
from sessions_app.services import CallMade
from sessions_app.summarizers import asked_place


class Asking:
    """The calls of one pass, in order."""

    def __init__(self, summarizer: Summarizer) -> None:
        self._summarizer = summarizer
        self._calls: list[CallMade] = []

    @property
    def calls(self) -> tuple[CallMade, ...]:
        """What was asked so far."""
        return tuple(self._calls)

    def ask(self, request: SummaryRequest | None, summarizer: Summarizer | None = None) -> Reply | None:
        """The reply to `request`, of another `summarizer` if one is given; None when there is nothing to ask."""
        if request is None:
            return None
        chosen, at = summarizer or self._summarizer, clock.now()
        reply = _timed(chosen, request)
        place = asked_place(chosen)
        model = reply.model or chosen.model
        self._calls.append(
            CallMade(
                purpose=CallPurpose(request.purpose.value),
                at=at,
                reply=reply,
                provider=place.provider,
                endpoint=place.address,
                model=model,
                cost_usd=cost_usd(model, place.address, reply.usage, at) if place.cost_usd is None else place.cost_usd,
            )
        )
        return reply


def _timed(summarizer: Summarizer, request: SummaryRequest) -> Reply:
    """The reply, with the time that was waited for it unless the summarizer has measured it itself."""
    before = time.perf_counter()
    reply = summarizer.ask(request)
    if reply.duration_ms is not None:
        return reply
    return replace(reply, duration_ms=round((time.perf_counter() - before) * 1000))
