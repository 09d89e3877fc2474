"""Accounts of the prompt cache: asked for, carried on by a job step by step, and given up for newer ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q

from compaction.request_history import HistoryState
from compaction.session_bills import BilledRequest, PassFigures, ToldBills
from sessions_app import clock
from sessions_app.cache_assumption import CacheAssumption, fingerprint_of
from sessions_app.cache_packing import REQUESTS_A_CHUNK, pack_bills, pack_history, pack_pass, pack_request
from sessions_app.deferring import defer_cache_count
from sessions_app.models import CacheAccount, CacheChunk, CachePassFigures, Session

# Of a session the accounts asked for last are kept; those that others push out stop being counted.
ACCOUNTS_KEPT: Final = 4
# A job that has said nothing for so long is asked for again.
SILENT_AFTER: Final = timedelta(seconds=60)


def wanted_account(session: Session, assumption: CacheAssumption) -> CacheAccount:
    """The account of a session under an assumption, as far as it is counted. A job is asked for when it is behind."""
    asked = fingerprint_of(session, assumption)
    account = CacheAccount.objects.filter(session_id=session.pk, fingerprint=asked).defer("history").first()
    if account is None:
        account = _new_account(session, assumption, asked)
    if account.through_seq < session.last_seq:
        _ask_for_job(account)
    return account


def _new_account(session: Session, assumption: CacheAssumption, fingerprint: str) -> CacheAccount:
    account, _ = CacheAccount.objects.get_or_create(
        session_id=session.pk,
        fingerprint=fingerprint,
        defaults={
            "table": assumption.prices.id,
            "model": assumption.model,
            "has_no_pauses": assumption.has_no_pauses,
        },
    )
    kept = CacheAccount.objects.filter(session_id=session.pk).order_by("-pk").values_list("pk", flat=True)
    CacheAccount.objects.filter(pk__in=list(kept[ACCOUNTS_KEPT:])).delete()
    return account


def _ask_for_job(account: CacheAccount) -> None:
    """One job at a time: whoever notes the wish asks for it."""
    now = clock.now()
    idle = Q(asked_at__isnull=True) | Q(asked_at__lt=now - SILENT_AFTER)
    with transaction.atomic():
        if CacheAccount.objects.filter(idle, pk=account.pk).update(asked_at=now):
            defer_cache_count(account.pk, account.session_id)


def store_step(account_id: int, after: int, through: int, told: ToldBills, history: HistoryState) -> bool:
    """Carry an account on from event `after` to `through`; False when it is gone or does not stand there any more."""
    with transaction.atomic():
        found = CacheAccount.objects.select_for_update().filter(pk=account_id, through_seq=after)
        account = found.only("pk").first()
        if account is None:
            return False
        _store_requests(account_id, told.requests)
        _store_passes(account_id, told.passes)
        account.through_seq, account.asked_at = through, clock.now()
        account.bills, account.history = pack_bills(told.state), pack_history(history)
        account.save(update_fields=["through_seq", "asked_at", "bills", "history"])
    return True


def end_waiting(account_id: int) -> None:
    """Note that nobody is counting any more."""
    CacheAccount.objects.filter(pk=account_id).update(asked_at=None)


def _store_requests(account_id: int, requests: Sequence[BilledRequest]) -> None:
    """Fill the last chunk, then begin new ones."""
    last = CacheChunk.objects.filter(account_id=account_id).order_by("-number").first()
    packed = [pack_request(one) for one in requests]
    number = 0
    if last is not None:
        number = last.number + 1
        room = REQUESTS_A_CHUNK - len(last.requests)
        if packed and room:
            last.requests += packed[:room]
            last.save(update_fields=["requests"])
            del packed[:room]
    starts = range(0, len(packed), REQUESTS_A_CHUNK)
    pieces = [packed[start : start + REQUESTS_A_CHUNK] for start in starts]
    chunks = [
        CacheChunk(account_id=account_id, number=place, first_seq=piece[0][1], requests=piece)
        for place, piece in enumerate(pieces, start=number)
    ]
    CacheChunk.objects.bulk_create(chunks, 50)


def _store_passes(account_id: int, passes: Sequence[PassFigures]) -> None:
    stored = [CachePassFigures(account_id=account_id, number=one.number, figures=pack_pass(one)) for one in passes]
    CachePassFigures.objects.bulk_create(
        stored, 500, update_conflicts=True, unique_fields=["account", "number"], update_fields=["figures"]
    )
