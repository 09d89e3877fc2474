"""All figures of the cache tab, of a session of any length: what is counted as stored, the rest counted on the way.

Nothing is held but some requests or passes at a time, and what the next one needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from compaction.request_history import HistoryState
from compaction.session_bills import BilledRequest, BillsState, PassFigures
from sessions_app.cache_assumption import CacheAssumption, fingerprint_of
from sessions_app.cache_counting import count_on
from sessions_app.cache_packing import unpack_bills, unpack_history, unpack_request
from sessions_app.models import CacheAccount, CacheChunk, Session
from sessions_app.pages.cache import CachePass, CacheReader, cost_of, passes_of

_CHUNKS_A_READ: Final = 4
_PASSES_A_READ: Final = 500


def known_account(session: Session, assumption: CacheAssumption) -> CacheAccount | None:
    """The stored account of a session under an assumption, if there is one."""
    fingerprint = fingerprint_of(session, assumption)
    return CacheAccount.objects.filter(session_id=session.pk, fingerprint=fingerprint).first()


def all_requests(session: Session, assumption: CacheAssumption) -> Iterator[BilledRequest]:
    """Every request, in order."""
    account = known_account(session, assumption)
    if account is not None:
        yield from _stored_requests(account)
    for step in count_on(session, assumption, *_standing(account)):
        yield from step.told.requests


def all_passes(session: Session, assumption: CacheAssumption) -> Iterator[CachePass]:
    """What every pass cost, in order. One is told when no later request says more of it, or at the end."""
    account = known_account(session, assumption)
    history, bills = _standing(account)
    waiting = {one.number: one for one in bills.open_passes}
    if account is not None:
        stored = CacheReader(session, assumption, account).each_pass()
        yield from (one for one in stored if one.made_by.number not in waiting)
    for step in count_on(session, assumption, history, bills):
        waiting.update({one.number: one for one in step.told.passes})
        settled = _taken(waiting)
        yield from _costs(session, assumption, settled)
    yield from _costs(session, assumption, list(waiting.values()))


def _standing(account: CacheAccount | None) -> tuple[HistoryState, BillsState]:
    """Where counting goes on."""
    if account is None:
        return HistoryState(), BillsState()
    return unpack_history(account.history), unpack_bills(account.bills)


def _stored_requests(account: CacheAccount) -> Iterator[BilledRequest]:
    chunks = CacheChunk.objects.filter(account_id=account.pk, first_seq__lte=account.through_seq).order_by("first_seq")
    seen = 0
    while found := list(chunks.filter(first_seq__gt=seen)[:_CHUNKS_A_READ]):
        for chunk in found:
            # A job may have gone on meanwhile: what it filled in is counted here once more.
            every = map(unpack_request, chunk.requests)
            yield from (one for one in every if one.seq <= account.through_seq)
            seen = chunk.first_seq


def _taken(waiting: dict[int, PassFigures]) -> list[PassFigures]:
    """Take those in front that stay as they are out of `waiting`."""
    settled: list[PassFigures] = []
    for number, one in list(waiting.items()):
        if one.is_open:
            break
        settled.append(waiting.pop(number))
    return settled


def _costs(session: Session, assumption: CacheAssumption, figures: Sequence[PassFigures]) -> Iterator[CachePass]:
    for start in range(0, len(figures), _PASSES_A_READ):
        some = {one.number: one for one in figures[start : start + _PASSES_A_READ]}
        made = passes_of(session).filter(number__in=list(some)).order_by("number")
        yield from (cost_of(one, some[one.number], assumption) for one in made)
