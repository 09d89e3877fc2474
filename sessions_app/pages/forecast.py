"""What happens next in a session, in sentences with numbers.

Every sentence says a fact of the plan or of the counters; what can't be known is said to be unknown, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from compaction.batch_guard import BlockedBy, blocked_by
from compaction.micro import MicroPlan, NothingReason
from compaction.passes import Nothing
from compaction.threshold import ThresholdSource
from sessions_app import clock
from sessions_app.mapping import state_of
from sessions_app.models import MessageRow, Session, SessionStatus
from sessions_app.pages.outlook import Outlook
from sessions_app.pages.pass_words import words_of_reason
from sessions_app.queries.turn_tokens import tokens_after_turn
from sessions_app.templatetags.site import clock as time_of_day
from sessions_app.templatetags.site import number, percent
from sessions_app.translated import translated

PACE_TURNS = 5
STEADY_SHARE_OF_THRESHOLD = 0.002
LARGE_FLOOR_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Sentence:
    """One line of the forecast."""

    text: SafeString
    is_warning: bool = False


def read_forecast(session: Session, outlook: Outlook) -> tuple[Sentence, ...]:
    """The forecast, most urgent first."""
    sentences = [*hold_sentences(session), *micro_sentences(session, outlook), *batch_sentences(session, outlook)]
    return (*sentences, *floor_sentences(session, outlook), *error_sentences(session))


def say(pattern: str, *values: object) -> SafeString:
    """A translated pattern with values in it; the first part between two asterisks is set bold."""
    parts = pattern.split("**")
    html = "".join(f"<b>{part}</b>" if index % 2 else part for index, part in enumerate(parts))
    return format_html(html, *values) if values else mark_safe(html)


def hold_sentences(session: Session) -> Iterator[Sentence]:
    if not session.is_held:
        return
    if session.held_until_turn is None:
        yield Sentence(say(_("Automatic passes are **held** until somebody resumes them.")), is_warning=True)
    else:
        yield Sentence(
            say(_("Automatic passes are **held** until turn {}."), session.held_until_turn + 1), is_warning=True
        )


def micro_sentences(session: Session, outlook: Outlook) -> Iterator[Sentence]:
    plan = outlook.plan
    if isinstance(plan, MicroPlan):
        yield Sentence(plan_sentence(session, outlook, plan))
    else:
        yield Sentence(waiting_sentence(outlook, plan))
    # A rolling summary that came with an import is read by the first pass; until then the state knows no size.
    is_known = plan.state.rolling_summary_tokens or not session.summary_rows
    if outlook.policy.runs_micro and not outlook.is_defrag_next and is_known:
        limit = outlook.policy.micro_compact_defrag_threshold_tokens
        has = plan.state.rolling_summary_tokens
        text = (
            _("Defrag when the rolling summary reaches {} tokens; it has {}.")
            if has
            else _("Defrag when the rolling summary reaches {} tokens; there is none yet.")
        )
        yield Sentence(say(text, number(limit), number(has)))


def when_words(session: Session) -> str:
    if session.status == SessionStatus.LIVE:
        return _("When turn {} ends").format(session.turns_total)
    return _("When the next turn ends")


def plan_sentence(session: Session, outlook: Outlook, plan: MicroPlan) -> SafeString:
    if not plan.exchanges:
        has = number(plan.state.rolling_summary_tokens)
        return say(_("{}, a **defrag rewrites the rolling summary**: it has {} tokens."), when_words(session), has)
    first, last = plan.exchanges[0].first.position, plan.exchanges[-1].last.position
    rows = str(first) if first == last else f"{first}–{last}"
    tokens = number(sum(exchange.tokens for exchange in plan.exchanges))
    turn = MessageRow.objects.filter(session_id=session.pk, id=plan.exchanges[0].first.id).values_list("turn").first()
    if len(plan.exchanges) > 1 or not turn or turn[0] is None:
        count = len(plan.exchanges)
        text = ngettext(
            "{}, a **micro pass absorbs {} exchange**: rows {}, {} tokens.",
            "{}, a **micro pass absorbs {} exchanges**: rows {}, {} tokens.",
            count,
        )
        return say(text, when_words(session), count, rows, tokens)
    text = _("{}, a **micro pass absorbs exchange {}**: rows {}, {} tokens.")
    return say(text, when_words(session), turn[0], rows, tokens)


def waiting_sentence(outlook: Outlook, plan: Nothing) -> SafeString:
    zones, policy = outlook.zones, outlook.policy
    match plan.reason:
        case NothingReason.MICRO_OFF:
            return say(_("Micro passes are **off** in this project."))
        case NothingReason.WAITS_FOR_CADENCE:
            left = policy.micro_compact_every_n_turns - plan.state.turns_since_pass + 1
            return say(ngettext("Next micro pass in **{} turn**.", "Next micro pass in **{} turns**.", left), left)
        case NothingReason.BELOW_TAIL_BUDGET if zones is not None:
            text = _("**No micro pass yet**: everything behind the head fits into the tail, {} of {} tokens.")
            return say(text, number(zones.tail_tokens), number(zones.budget.budget_tokens))
        case NothingReason.NEWEST_TURN_EXCEEDS_TAIL:
            return say(_("**No micro pass now**: the newest turn alone is larger than the tail."))
        case NothingReason.NO_COMPLETE_EXCHANGE:
            return say(_("**No micro pass now**: no exchange is left in the middle to absorb."))
        case NothingReason.BELOW_MIN_RECLAIM:
            text = _("The next micro pass waits until it gives back {} tokens.")
            return say(text, number(policy.micro_compact_min_reclaim_tokens))
        case NothingReason.CACHE_WARM | NothingReason.CACHE_UNKNOWN:
            return say(_("The next micro pass waits until the provider's prompt cache has expired."))
        case _:
            return say(_("No micro pass now: {}."), plan.reason)


def unknown_occupancy(model: str | None) -> SafeString:
    if not model:
        text = _("Occupancy is **unknown** and no batch runs by itself: neither the model nor its window is known.")
        return say(text)
    text = _("Occupancy is **unknown** and no batch runs by itself: nobody has said how large the window of {} is.")
    return say(text, model)


def batch_sentences(session: Session, outlook: Outlook) -> Iterator[Sentence]:
    threshold = outlook.threshold.tokens
    if threshold is None:
        yield Sentence(unknown_occupancy(session.model))
        return
    if not outlook.policy.runs_batch:
        yield Sentence(say(_("Batch compaction is **off**; the window ends the session.")), is_warning=True)
        return
    used = session.live_tokens + (session.fixed_overhead_tokens or 0)
    left = threshold - used
    waiting = blocked_sentence(session, used)
    if waiting is not None:
        yield waiting
    if left <= 0:
        text = _("**Over the threshold** of {} tokens by {}: the next turn that ends starts a batch.")
        if waiting is not None:
            text = _("**Over the threshold** of {} tokens by {}.")
        yield Sentence(say(text, number(threshold), number(-left)), is_warning=True)
        return
    yield Sentence(
        say(
            "{} {}",
            say(_("Batch at {} tokens: {} to go,"), number(threshold), number(left)),
            pace_words(session, left, threshold),
        )
    )


def blocked_sentence(session: Session, tokens: int) -> Sentence | None:
    """What holds automatic batches back and until when; None when nothing does."""
    state = state_of(session.state)
    match blocked_by(state, tokens, clock.now().timestamp()):
        case BlockedBy.COOLDOWN:
            text = _("**No automatic batch until {}**: the last one failed ({}), {} in a row.")
            failures = ngettext("{} failure", "{} failures", state.batch_failures).format(state.batch_failures)
            return Sentence(
                say(text, moment_words(state.cooldown_until), words_of_reason(state.last_error), failures),
                is_warning=True,
            )
        case BlockedBy.INEFFECTIVE:
            text = _("**Automatic batches are paused until {}**: the last ones did not help enough.")
            return Sentence(say(text, moment_words(state.paused_until)), is_warning=True)
        case BlockedBy.STRUCTURAL:
            text = _("**Automatic batches are paused until {}**: the last one found nothing it could cut.")
            return Sentence(say(text, moment_words(state.paused_until)), is_warning=True)
        case BlockedBy.TOO_FREQUENT:
            text = _("**Automatic batches are paused**: there were {} within ten minutes.")
            return Sentence(say(text, len(state.batch_committed_at)), is_warning=True)
    return None


def moment_words(epoch_seconds: float | None) -> SafeString:
    """A time of today, for people."""
    return time_of_day(None if epoch_seconds is None else datetime.fromtimestamp(epoch_seconds, UTC))


def pace_words(session: Session, left_tokens: int, threshold_tokens: int) -> str:
    """How soon that is, at the pace of the last turns, passes included."""
    growth = growth_per_turn(session)
    if growth is None:
        return _("too few turns to tell how soon.")
    if growth <= threshold_tokens * STEADY_SHARE_OF_THRESHOLD:
        return _("steady over the last {} turns.").format(PACE_TURNS)
    turns = max(1, round(left_tokens / growth))
    text = ngettext("about {} turn at the pace of the last {}.", "about {} turns at the pace of the last {}.", turns)
    return text.format(number(turns), PACE_TURNS)


def growth_per_turn(session: Session) -> float | None:
    """Tokens by which the live context grew per turn, over the last finished ones; None when there are too few."""
    then = tokens_after_turn(session.pk, session.turns_total - PACE_TURNS)
    return None if then is None else (session.live_tokens - then) / PACE_TURNS


def floor_sentences(session: Session, outlook: Outlook) -> Iterator[Sentence]:
    """The user's own words, which no micro pass takes."""
    threshold = outlook.threshold.tokens
    if not threshold or not outlook.policy.runs_micro or not session.user_tokens:
        return
    share = session.user_tokens / threshold
    text = _("Your own words hold {} tokens, {} of the threshold: micro passes never take them.")
    is_large = share > LARGE_FLOOR_SHARE
    yield Sentence(say(text, number(session.user_tokens), percent(100 * share)), is_warning=is_large)


def error_sentences(session: Session) -> Iterator[Sentence]:
    if session.last_error:
        yield Sentence(say(_("Last failure: {}"), translated(session.last_error)[:300]), is_warning=True)


def threshold_words(outlook: Outlook) -> str:
    """The rule that decided the threshold, for people."""
    threshold = outlook.threshold
    if threshold.steps:
        return translated(threshold.steps[-1].what)
    words = {
        ThresholdSource.DEFAULT: _("default"),
        ThresholdSource.PROJECT: _("stored with the session"),
        ThresholdSource.UNKNOWN_WINDOW: _("window unknown"),
    }
    return words.get(threshold.source, str(threshold.source))
