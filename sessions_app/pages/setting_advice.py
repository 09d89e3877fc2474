"""What people should know before they save: warnings that follow from the settings and this project's figures, and what
to do when passes are slow, in order. Every sentence carries its numbers; where a number is unknown nothing is said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from compaction.endpoints.endpoint import endpoint_of
from compaction.errors import InvalidPolicy
from compaction.policy import CompactionPolicy, MicroWhen
from sessions_app.models import Project
from sessions_app.pages.forecast import say
from sessions_app.pages.setting_preview import Preview, RewriteCost
from sessions_app.queries.project_figures import ProjectFigures
from sessions_app.summarizers import is_offline
from sessions_app.templatetags.site import duration_ms, number, percent
from sessions_app.translated import translated

# Parts of names of models that think before they answer.
_REASONING: Final = re.compile(
    r"(?:^|[/:_.\-])(?:o[134](?:$|[\-_.:])|r1|qwq|gpt-5|reason\w*|think\w*|magistral|deepseek-r)", re.IGNORECASE
)
_NOT_REASONING: Final = re.compile(r"non-?reasoning|no-?think|instruct|chat", re.IGNORECASE)
SLOW_MS: Final = 20_000
# From this share of the price on, a cached token is so much cheaper that breaking the cache is what costs.
_LARGE_DISCOUNT: Final = 0.25
_LARGE_FLOOR_SHARE: Final = 0.25


@dataclass(frozen=True, slots=True)
class Caution:
    """One sentence, with the setting it is about."""

    text: SafeString
    path: str


def is_reasoning_model(name: str) -> bool:
    """Whether a model's name says that it reasons before it answers."""
    return bool(_REASONING.search(name)) and not _NOT_REASONING.search(name)


def read_warnings(
    project: Project, policy: CompactionPolicy, preview: Preview, figures: ProjectFigures
) -> tuple[Caution, ...]:
    """The warnings, those that make compaction fail first."""
    return (
        *room_warnings(policy, preview, figures),
        *model_warnings(policy, figures),
        *window_warnings(preview),
        *cache_warnings(policy, preview),
        *floor_warnings(preview, policy, figures),
    )


def room_warnings(policy: CompactionPolicy, preview: Preview, figures: ProjectFigures) -> Iterator[Caution]:
    main, overhead = preview.main, figures.overhead_tokens or 0
    if not policy.enabled:
        text = _("Compaction is **off**: a session ends when its window is full.")
        yield Caution(say(text), "compression.enabled")
    tokens = main.threshold.tokens
    if tokens is None:
        return
    if overhead >= tokens:
        text = _(
            "**The threshold of {} tokens lies under the fixed overhead**: some session's requests carry {} tokens "
            "of system prompt and tool schemas, which can't be compacted, so each turn would ask for a batch."
        )
        yield Caution(say(text, number(tokens), number(overhead)), "compression.threshold")
    elif main.tail.budget_tokens >= tokens - overhead:
        text = _(
            "**The tail takes everything**: {} tokens of tail and {} of fixed overhead leave nothing of the "
            "threshold of {}, so no pass would find a middle."
        )
        yield Caution(
            say(text, number(main.tail.budget_tokens), number(overhead), number(tokens)), "compression.target_ratio"
        )


def model_warnings(policy: CompactionPolicy, figures: ProjectFigures) -> Iterator[Caution]:
    auxiliary = policy.auxiliary
    yield from endpoint_warnings(policy)
    if is_reasoning_model(auxiliary.model):
        text = _(
            "**{} looks like a reasoning model**: it thinks before each summary, which is slower and dearer and "
            "often runs into the output limit. A small fast model without reasoning suits better."
        )
        yield Caution(say(text, auxiliary.model), "auxiliary.compression.model")
    exchange = figures.exchange_tokens
    if auxiliary.window_tokens and exchange and auxiliary.window_tokens < 2 * exchange:
        text = _(
            "**The summarizer's window of {} tokens is small**: one exchange here holds {} tokens on average, and "
            "the question needs room for the summary as well."
        )
        yield Caution(
            say(text, number(auxiliary.window_tokens), number(round(exchange))), "auxiliary.compression.context_length"
        )
    if policy.runs_micro and figures.micro_ms and figures.micro_ms > 1_000 * policy.finalize_wait_seconds:
        text = _(
            "**Passes take longer than requests wait**: {} on average, against {} s. Requests then go out with the "
            "old rows."
        )
        yield Caution(
            say(text, duration_ms(round(figures.micro_ms)), policy.finalize_wait_seconds),
            "compression.finalize_wait_seconds",
        )


def endpoint_warnings(policy: CompactionPolicy) -> Iterator[Caution]:
    """Settings of the summarizer that say where to ask, but not completely."""
    if is_offline(policy.auxiliary):
        return
    try:
        endpoint_of(policy.auxiliary)
    except InvalidPolicy as error:
        text = _("**The summarizer can't be asked**, so every pass would fail: {}.")
        yield Caution(say(text, translated(error.said)), "auxiliary.compression.provider")


def window_warnings(preview: Preview) -> Iterator[Caution]:
    for model in preview.models:
        if model.window.context_tokens is None and model.sessions:
            name = model.name or _("a model without a name")
            text = ngettext(
                "**The window of {} is unknown** ({} session): no batch runs by itself there.",
                "**The window of {} is unknown** ({} sessions): no batch runs by itself there.",
                model.sessions,
            )
            yield Caution(say(text, name, number(model.sessions)), "compression.threshold")


def cache_warnings(policy: CompactionPolicy, preview: Preview) -> Iterator[Caution]:
    """Rewriting often where cached input is nearly free."""
    cost = preview.later
    if cost is None or policy.micro_compact_when is MicroWhen.CACHE_COLD or cost.prices.read > _LARGE_DISCOUNT:
        return
    if not cost.comes_too_late:
        return
    yield Caution(break_even_words(cost), "compression.micro_compact_every_n_turns")


def break_even_words(cost: RewriteCost) -> SafeString:
    """That passes follow each other sooner than they pay, with the figures."""
    calls, rebilled = cost.economics.break_even.calls, number(cost.economics.rebilled_tokens)
    saved, label = number(cost.economics.saved_tokens), translated(cost.prices.label)
    if calls is None:
        text = _("**A pass never pays for itself** on {}: it re-bills about {} tokens and gives back {} per request.")
        return say(text, label, rebilled, saved)
    if cost.next_pass_requests is None:
        text = _(
            "On {}, one pass re-bills about {} tokens and gives back {} per request: it pays after **{} requests**."
        )
        return say(text, label, rebilled, saved, number(calls))
    text = _(
        "**Passes come sooner than they pay** on {}: each re-bills about {} tokens and gives back {} per request, "
        "so it pays after {} requests; the next one comes after about {}. Wait for more tokens, or let several "
        "turns pass."
    )
    return say(text, label, rebilled, saved, number(calls), number(round(cost.next_pass_requests)))


def floor_warnings(preview: Preview, policy: CompactionPolicy, figures: ProjectFigures) -> Iterator[Caution]:
    tokens = preview.main.threshold.tokens
    if not policy.runs_micro or not tokens or not figures.user_tokens:
        return
    share = figures.user_tokens / tokens
    if share > _LARGE_FLOOR_SHARE:
        text = _(
            "People's own words hold {} tokens per session, **{} of the threshold**: micro passes never take them."
        )
        yield Caution(say(text, number(round(figures.user_tokens)), percent(100 * share)), "compression.micro_compact")


def batch_share_words(figures: ProjectFigures) -> SafeString | None:
    """How often sessions of the project stalled for a batch."""
    if not figures.sessions:
        return None
    if not figures.batch_passes:
        text = ngettext(
            "None of the newest {} session needed a batch.",
            "None of the newest {} sessions needed a batch.",
            figures.sessions,
        )
        return say(text, figures.sessions)
    took = _("unknown") if figures.batch_ms is None else duration_ms(round(figures.batch_ms))
    text = ngettext(
        "There was {} batch in {} of the newest {} sessions; it took {}.",
        "There were {} batches in {} of the newest {} sessions; one took {} on average.",
        figures.batch_passes,
    )
    return say(text, number(figures.batch_passes), figures.batch_sessions, figures.sessions, took)
