"""What a session's next pass will do, in zones and numbers: the engine's own plan, made without asking or writing.

The plan reads the head, the tail and the exchange it would absorb, so it costs the same for any session. Where the
threshold is unknown there are no zones, and the page says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from compaction.micro import MicroPlan, plan_micro
from compaction.pass_context import make_context
from compaction.passes import Nothing, PassContext
from compaction.policy import CompactionPolicy
from compaction.records import PassKind
from compaction.state import CompactionState
from compaction.threshold import Threshold, Window
from compaction.tokens import RoughCounter, TokenCounter
from compaction.zones import Zones
from sessions_app.models import Session
from sessions_app.pages.flow import Key, ZoneName
from sessions_app.session_policy import model_of, overhead_of, policy_of, threshold_of, window_of
from sessions_app.stored_transcript import StoredTranscript
from sessions_app.token_counting import site_counter


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known of a session's near future.

    plan: what would happen after the next finished turn. zones: None while the threshold is unknown.
    """

    policy: CompactionPolicy
    threshold: Threshold
    window: Window
    zones: Zones | None
    plan: Nothing | MicroPlan

    def zone_of(self, key: Key, is_live: bool = True) -> ZoneName:
        """Where a row lies; archived rows belong to the middle unless they stand in front of the head's end."""
        if self.zones is None:
            return ZoneName.NONE
        if self.zones.head_end is not None and key <= self.zones.head_end:
            return ZoneName.HEAD
        if self.zones.tail_start is not None and key >= self.zones.tail_start:
            return ZoneName.TAIL
        return ZoneName.MIDDLE

    @property
    def next_span(self) -> tuple[Key, Key] | None:
        """First and last key of the rows the next pass absorbs."""
        if isinstance(self.plan, MicroPlan) and self.plan.exchanges:
            return self.plan.exchanges[0].first, self.plan.exchanges[-1].last
        return None

    @property
    def is_defrag_next(self) -> bool:
        return isinstance(self.plan, MicroPlan) and self.plan.kind is PassKind.DEFRAG


def read_outlook(session: Session, transcript: StoredTranscript) -> Outlook:
    """The outlook of a session, planned on its stored rows."""
    policy, window = policy_of(session), window_of(session)
    context = make_context(
        policy,
        window,
        _counter_for(session, transcript.state),
        fixed_overhead_tokens=overhead_of(session) or 0,
        main_model=model_of(session) or "",
    )
    plan = plan_micro(transcript, transcript.state, context)
    return Outlook(policy, threshold_of(session, policy), window, plan.zones or zones_of(transcript, context), plan)


def _counter_for(session: Session, state: CompactionState) -> TokenCounter:
    """The rows' costs are stored. Where the state holds the summary too, only the size of the question is counted here,
    and roughly is enough for a page; a summary that is read from its row is counted as passes count it."""
    has_lost_summary = session.summary_rows > 0 and not state.rolling_summary.strip()
    return site_counter() if has_lost_summary else RoughCounter()


def zones_of(transcript: StoredTranscript, context: PassContext) -> Zones | None:
    """The zones where no plan needed them: micro passes are off, or not due."""
    if context.threshold_tokens is None or context.tail is None:
        return None
    return context.zones_of(transcript)
