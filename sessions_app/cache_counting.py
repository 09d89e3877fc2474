"""Counting the bills of a session, a stretch of its events at a time, and carrying stored accounts on.

Bills of short sessions are counted when somebody looks. Those of long ones are counted by a job, kept by
`services.cache_accounts`, and carried on from where they stood. Each step reads a bounded stretch of events and is
stored as a whole, so a job that dies or is overtaken loses one step, and one that is not wanted any more ends there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from compaction.economics import summarizer_bill
from compaction.request_history import HistoryState, HistoryWalk
from compaction.session_bills import BilledRequest, BillsState, HeldPass, PassFigures, ToldBills, tell_bills
from compaction.summarizer import Usage
from sessions_app.cache_assumption import CacheAssumption, assume, fingerprint_of
from sessions_app.cache_packing import unpack_bills, unpack_history
from sessions_app.models import CacheAccount, CompactionPass, PassKind, PassOrigin, Session
from sessions_app.pricing import summarizer_prices
from sessions_app.queries.row_lives import lives_between, reset_seqs
from sessions_app.services.cache_accounts import end_waiting, store_step
from sessions_app.summarizers import EXTRACTIVE

EVENTS_A_STEP: Final = 20_000
# Up to this many rows a session is counted when somebody looks: well under a tenth of a second.
ROWS_AT_ONCE: Final = 1_000

_BILLED_COLUMNS: Final = (
    *("id", "session_id", "number", "kind", "origin", "seq", "at", "committed", "aux_model", "main_model"),
    *("input_tokens", "output_tokens", "cache_read_tokens"),
)


@dataclass(frozen=True, slots=True)
class CountedStep:
    """What the events up to `through_seq` added, and the walk that goes on from there."""

    through_seq: int
    told: ToldBills
    walk: HistoryWalk


def is_short(session: Session) -> bool:
    """Whether a session is counted at once."""
    return session.live_rows + session.archived_rows + session.rewound_rows + session.passes_total <= ROWS_AT_ONCE


def count_at_once(session: Session, assumption: CacheAssumption) -> ToldBills:
    """All bills of a short session."""
    requests: list[BilledRequest] = []
    passes: dict[int, PassFigures] = {}
    state = BillsState()
    for step in count_on(session, assumption, HistoryState(), state):
        requests += step.told.requests
        passes.update({one.number: one for one in step.told.passes})
        state = step.told.state
    return ToldBills(tuple(requests), tuple(passes.values()), state)


def count_on(
    session: Session, assumption: CacheAssumption, history: HistoryState, bills: BillsState
) -> Iterator[CountedStep]:
    """The bills behind a state, step by step, up to the event at which the session stands."""
    walk = HistoryWalk(session.fixed_overhead_tokens or 0, history)
    for after in range(history.seq, session.last_seq, EVENTS_A_STEP):
        through = min(after + EVENTS_A_STEP, session.last_seq)
        resets = reset_seqs(session.pk, after, through)
        told = tell_bills(
            bills,
            walk.go_on(lives_between(session.pk, after, through), through, resets),
            held_passes(session.pk, after, through, assumption),
            assumption.prices,
            has_no_pauses=assumption.has_no_pauses,
        )
        bills = told.state
        yield CountedStep(through, told, walk)


def held_passes(session_id: int, after: int, through: int, assumption: CacheAssumption) -> list[HeldPass]:
    """The passes of a stretch of events, with what their summarizers cost."""
    stored = CompactionPass.objects.filter(session_id=session_id, seq__gt=after, seq__lte=through)
    found = stored.exclude(kind=PassKind.NOTHING).only(*_BILLED_COLUMNS).order_by("seq", "number")
    return [
        HeldPass(
            one.number,
            one.seq,
            None if one.at is None else one.at.timestamp(),
            one.committed,
            summarizer_tokens(one, assumption),
        )
        for one in found
    ]


def summarizer_tokens(made_by: CompactionPass, assumption: CacheAssumption) -> float | None:
    """What the summarizer of a pass cost in full-price tokens; nothing where nobody was asked."""
    is_ours = made_by.origin == PassOrigin.ENGINE
    if made_by.kind == PassKind.PRUNE or (is_ours and made_by.aux_model in (None, "", EXTRACTIVE)):
        return 0.0
    prices = summarizer_prices(assumption.model or made_by.main_model, made_by.aux_model, assumption.prices.read)
    usage = Usage(made_by.input_tokens, made_by.output_tokens, made_by.cache_read_tokens)
    return summarizer_bill(usage, prices)


def carry_on(account_id: int) -> None:
    """Carry an account on to where its session stands. Ends where the account is gone, or was carried on elsewhere."""
    account = CacheAccount.objects.select_related("session").filter(pk=account_id).first()
    if account is None:
        return
    session = account.session
    assumption = assume(account.table, account.model, session, has_no_pauses=account.has_no_pauses)
    if fingerprint_of(session, assumption) == account.fingerprint:
        after, bills = account.through_seq, unpack_bills(account.bills)
        for step in count_on(session, assumption, unpack_history(account.history), bills):
            if not store_step(account_id, after, step.through_seq, step.told, step.walk.state()):
                return
            after = step.through_seq
    end_waiting(account_id)
