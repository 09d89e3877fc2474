"""The words and marks of a pass: the same on every page."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from compaction.records import Outcome
from sessions_app.models import CompactionPass, PassFacts, PassKind
from sessions_app.punctuation import colon, semicolon
from sessions_app.translated import translated

OUTCOMES = {
    Outcome.ABSORBED: gettext_lazy("absorbed"),
    Outcome.SUMMARIZE_FAILED: gettext_lazy("summarizer failed"),
    Outcome.EXCHANGE_SKIPPED: gettext_lazy("exchange skipped"),
    Outcome.DEFRAG: gettext_lazy("defrag"),
    Outcome.DEFRAG_FAILED: gettext_lazy("defrag failed"),
    Outcome.DEFRAG_NO_GAIN: gettext_lazy("defrag without gain"),
    Outcome.STALE: gettext_lazy("stale"),
    Outcome.NOTHING: gettext_lazy("nothing to do"),
    Outcome.COMPACTED: gettext_lazy("compacted"),
    Outcome.NO_GAIN: gettext_lazy("no gain"),
    Outcome.ABORTED: gettext_lazy("aborted"),
    Outcome.FALLBACK: gettext_lazy("fallback summary"),
    Outcome.BLOCKED: gettext_lazy("blocked"),
    Outcome.PRUNED: gettext_lazy("pruned"),
    Outcome.TRUNCATED: gettext_lazy("truncated"),
}
# A pass that was planned and not made, on the page that shows what comes next.
PLANNED = "planned"
_OUTCOME_WORDS = {outcome.value: words for outcome, words in OUTCOMES.items()}
FAILED = frozenset(outcome.value for outcome in Outcome if outcome.is_failure)
REASONS = {
    "timeout": gettext_lazy("the summarizer gave no reply in time"),
    "empty": gettext_lazy("the reply was empty"),
    "thinking_only": gettext_lazy("the reply was thinking without an answer"),
    "error_text": gettext_lazy("the reply was the text of an error"),
    "bare_template": gettext_lazy("the reply was a template without facts"),
    "tool_call_markup": gettext_lazy("the reply was a tool call"),
    "echo_of_prompt": gettext_lazy("the reply repeated the question"),
    "batch_off": gettext_lazy("batch compaction is off"),
    "length": gettext_lazy("the reply was cut off at its length limit"),
    "refusal": gettext_lazy("the summarizer refused"),
    "cooldown": gettext_lazy("after a failure the next try waits"),
    "ineffective": gettext_lazy("the last batches did not help enough"),
    "structural_backoff": gettext_lazy("the last batch found nothing it could cut"),
    "too_frequent": gettext_lazy("too many batches within ten minutes"),
    "no_compressible_window": gettext_lazy("there is nothing between head and tail that could be compacted"),
    "no_endpoint": gettext_lazy("the settings name no endpoint that could be asked"),
    "not_smaller": gettext_lazy("the new text was not smaller"),
    "aux_window_too_small": gettext_lazy("the question does not fit into the summarizer's window"),
    "sliding_window": gettext_lazy("oldest turns dropped, nothing summarised"),
    "micro_off": gettext_lazy("micro passes are off"),
    "turn_not_finished": gettext_lazy("the turn did not end with an answer"),
    "waits_for_cadence": gettext_lazy("not yet due"),
    "window_unknown": gettext_lazy("the window is unknown"),
    "below_tail_budget": gettext_lazy("everything behind the head fits into the tail"),
    "below_threshold": gettext_lazy("below the threshold"),
    "newest_turn_exceeds_tail": gettext_lazy("the newest turn alone is larger than the tail"),
    "no_complete_exchange": gettext_lazy("no exchange left in the middle"),
    "below_min_reclaim": gettext_lazy("too little to give back yet"),
    "cache_warm": gettext_lazy("the prompt cache is still warm"),
    "cache_unknown": gettext_lazy("whether the prompt cache is warm is unknown"),
    "policy_none": gettext_lazy("this policy never compacts"),
    "only_protected_turns": gettext_lazy("only protected turns are left"),
    "prune_off": gettext_lazy("pruning is off"),
    "below_prune_trigger": gettext_lazy("too few tokens for a prune"),
    "waits_for_regrowth": gettext_lazy("the context has not regrown since the last prune"),
    "nothing_to_prune": gettext_lazy("no tool result before the tail is worth shortening"),
}


def outcome_words(facts: PassFacts) -> str:
    """The outcome for people; one that is not known here is shown as it is stored."""
    if facts.outcome == PLANNED:
        return _("planned, nobody asked")
    return str(_OUTCOME_WORDS.get(facts.outcome, facts.outcome))


def reason_words(facts: PassFacts) -> str:
    """The named reason for people, empty when there is none."""
    return words_of_reason(facts.reason)


def words_of_reason(reason: str) -> str:
    """A named reason for people. What a server answered stays as it is known: HTTP 500."""
    if reason.startswith("http_"):
        return _("the summarizer's server answered {}").format(reason.replace("_", " ").upper())
    return str(REASONS.get(reason, reason.replace("_", " ")))


def why_words(facts: PassFacts) -> str:
    """Reason and detail as one sentence without its full stop; empty when nothing is known."""
    reason, detail = reason_words(facts), translated(facts.detail).strip().rstrip(".")
    return reason + colon() + detail if reason and detail else reason or detail


def notes_words(facts: PassFacts) -> str:
    """What else there is to know of a pass, without a full stop; empty when there is nothing."""
    return semicolon().join(translated(note) for note in facts.notes or ())


def kind_words(facts: PassFacts) -> str:
    """The kind of a pass."""
    words = {
        PassKind.MICRO: pgettext("kind of pass", "micro"),
        PassKind.DEFRAG: pgettext("kind of pass", "defrag"),
        PassKind.BATCH: pgettext("kind of pass", "batch"),
        PassKind.PRUNE: pgettext("kind of pass", "prune"),
        PassKind.NOTHING: _("nothing"),
    }
    return words.get(PassKind(facts.kind), facts.kind)


@dataclass(frozen=True, slots=True)
class PassTokens:
    """Tokens before and after a pass. is_our_count: the source did not say, so these are live rows as counted here."""

    before: int | None
    after: int | None
    is_our_count: bool = False

    @property
    def change(self) -> int | None:
        return None if self.before is None or self.after is None else self.after - self.before


def tokens_of(facts: PassFacts) -> PassTokens:
    """The pass's own figures, else our count of the live rows."""
    if facts.tokens_before is not None or not isinstance(facts, CompactionPass):
        return PassTokens(facts.tokens_before, facts.tokens_after)
    return PassTokens(facts.counted_tokens_before, facts.counted_tokens_after, is_our_count=True)


def is_failed(facts: PassFacts) -> bool:
    """Whether the pass was tried and went wrong."""
    return facts.outcome in FAILED


def icon_of(facts: PassFacts) -> str:
    """The mark of a pass in the sprite."""
    if is_failed(facts):
        return "fail"
    return {"nothing": "none"}.get(facts.kind, facts.kind)
