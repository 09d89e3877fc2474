"""Template words about passes and summaries: their marks, kinds, outcomes and texts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext, pgettext

from compaction.batch_telemetry import BATCH_PREFIX
from compaction.formats.own_export import REDACTED_SOURCE, SOURCE
from compaction.telemetry import MICRO_PREFIX, PRUNE_PREFIX
from sessions_app.models import CompactionPass, EventKind, PassFacts, PassKind, PassOrigin, Session
from sessions_app.pages import pass_words
from sessions_app.pages.flow import SummaryItem
from sessions_app.pages.ledger import TurnTime
from sessions_app.pages.replay_steps import first_step, has_edit
from sessions_app.pages.summary_text import unframed
from sessions_app.punctuation import listed
from sessions_app.rendering.addresses import step_address
from sessions_app.rendering.gauge import Segment, Zone, draw_gauge
from sessions_app.rendering.markdown import render_markdown
from sessions_app.rendering.word_diff import DiffLine, set_text
from sessions_app.templatetags.site import number

register = template.Library()
_LINE_PREFIXES = {
    PassKind.MICRO: MICRO_PREFIX,
    PassKind.DEFRAG: MICRO_PREFIX,
    PassKind.BATCH: BATCH_PREFIX,
    PassKind.PRUNE: PRUNE_PREFIX,
}

# Behind a sign that joins words: "a/b", "a_b", "a.b", but not within "1.5" or "__a__".
_BETWEEN_WORDS = re.compile(r"(?<=[/:=&?-])(?=\w)|(?<=\.)(?=[^\W\d])|(?<=[^\W_]_)(?=[^\W_])")

register.filter("pass_icon", pass_words.icon_of)
register.filter("pass_kind", pass_words.kind_words)
register.filter("pass_outcome", pass_words.outcome_words)
register.filter("pass_reason", pass_words.reason_words)
register.filter("pass_notes", pass_words.notes_words)
register.filter("pass_why", pass_words.why_words)
register.filter("pass_failed", pass_words.is_failed)
register.filter("pass_tokens", pass_words.tokens_of)


@register.filter
def summary_html(item: SummaryItem) -> SafeString:
    """The text of a live summary, without its frame where the frame is ours."""
    stored = item.row.text.start if item.revision is None or item.revision.text is None else item.revision.text
    return render_markdown(unframed(stored))


@register.filter
def breakable(text: str) -> SafeString:
    """A path or an identifier that may be broken behind the signs between its words."""
    return format_html_join(mark_safe("<wbr>"), "{}", ((piece,) for piece in _BETWEEN_WORDS.split(text)))


@register.simple_tag
def replay_url(session: Session, made_by: CompactionPass) -> str:
    """Where the replay of a recorded pass begins."""
    return step_address(session.public_id, made_by.number, first_step(made_by))


@register.filter
def at_turn(times: Mapping[int, TurnTime], turn: int | None) -> TurnTime | None:
    """How long a turn took; None when it is not known."""
    return None if turn is None else times.get(turn)


@register.filter
def is_imported(facts: PassFacts) -> bool:
    """Whether another program made this pass."""
    return isinstance(facts, CompactionPass) and facts.origin == PassOrigin.IMPORTED


@register.filter
def is_from_export(facts: PassFacts, session: Session) -> bool:
    """Whether this pass came back from an export of this program."""
    return is_imported(facts) and session.source in (SOURCE, REDACTED_SOURCE)


@register.filter
def changed_rows(facts: PassFacts) -> bool:
    """Whether the pass changed rows."""
    return has_edit(facts)


@register.filter
def occupancy_before(facts: PassFacts) -> float | None:
    """Occupancy before the pass; None when it is not known."""
    if not facts.threshold_tokens or facts.tokens_before is None:
        return None
    return round(100 * facts.tokens_before / facts.threshold_tokens, 1)


@register.filter
def tokens_before_words(facts: PassFacts) -> str:
    """Tokens before, by the pass's own figure, else by our count."""
    found = pass_words.tokens_of(facts)
    return tokens_words(found.before, found.is_our_count)


@register.filter
def tokens_after_words(facts: PassFacts) -> str:
    """Tokens after, likewise."""
    found = pass_words.tokens_of(facts)
    return tokens_words(found.after, found.is_our_count)


def tokens_words(tokens: int | None, is_our_count: bool) -> str:
    if tokens is None:
        return gettext("tokens unknown")
    words = gettext("%(tokens)s tokens by our count") if is_our_count else gettext("%(tokens)s tokens")
    return words % {"tokens": number(tokens)}


@register.filter
def set_lines(text: str) -> tuple[DiffLine, ...]:
    """A text in the lines of a diff, with nothing changed."""
    return set_text(text)


@register.filter
def first_ten(positions: tuple[int, ...]) -> str:
    """The first row numbers, and how many more there are."""
    shown = listed(str(position) for position in positions[:10])
    more = len(positions) - 10
    return shown if more <= 0 else gettext("%(rows)s and %(more)d more") % {"rows": shown, "more": more}


@register.filter
def row_list(positions: tuple[int, ...]) -> str:
    """Row numbers of one message."""
    return first_ten(positions)


@register.filter
def zone_parts(facts: PassFacts) -> tuple[Segment, ...]:
    """The zones of a pass as parts of a bar."""
    zones = facts.zones or {}
    parts = (
        (Zone.HEAD, zones.get("head_tokens", 0)),
        (Zone.MIDDLE, zones.get("middle_tokens", 0)),
        (Zone.TAIL, zones.get("tail_tokens", 0)),
    )
    return draw_gauge(parts, None, None, None).segments


@register.filter
def telemetry_line(facts: PassFacts) -> str:
    """The stored telemetry as its log line; empty when none was stored."""
    if not facts.telemetry:
        return ""
    start = _LINE_PREFIXES.get(PassKind(facts.kind), "")
    return start + json.dumps(facts.telemetry, ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True, slots=True)
class DatabaseEffect:
    """One thing a pass wrote."""

    table: str
    words: str


@register.filter
def database_effects(facts: PassFacts) -> list[DatabaseEffect]:
    """What a pass wrote, table by table, from its stored facts."""
    edit = facts.edit or {}
    gone = len(edit.get("archived") or ()) + len(edit.get("superseded") or ())
    inserted = edit.get("inserted") or ()
    seq = facts.seq if isinstance(facts, CompactionPass) else None
    stamp = gettext("died_seq = %(seq)s") % {"seq": seq} if seq is not None else gettext("died_seq = the pass's event")
    effects = [
        DatabaseEffect(
            "messagerow",
            ngettext("%(rows)s row stamped: %(stamp)s", "%(rows)s rows stamped: %(stamp)s", gone)
            % {"rows": number(gone), "stamp": stamp},
        ),
        *(DatabaseEffect("messagerow", inserted_words(row)) for row in inserted),
    ]
    if any(str(row.get("kind", "")).endswith("summary") for row in inserted):
        effects.append(DatabaseEffect("summaryrevision", gettext("a new version, the earlier one marked superseded")))
    if isinstance(facts, CompactionPass):
        effects.append(
            DatabaseEffect(
                "compactionpass", gettext("pass %(number)d with all the facts shown here") % {"number": facts.number}
            )
        )
        effects.append(
            DatabaseEffect("sessionevent", gettext("event %(seq)d, with the totals after it") % {"seq": facts.seq})
        )
        effects.append(DatabaseEffect("session", session_words(facts)))
    return effects


def inserted_words(row: dict[str, Any]) -> str:
    words = gettext("1 row inserted: %(kind)s at position %(position)s, %(tokens)s tokens")
    return words % {
        "kind": str(row.get("kind", "")).replace("_", " "),
        "position": row.get("position"),
        "tokens": number(row.get("tokens")),
    }


def session_words(facts: CompactionPass) -> str:
    words = [gettext("counters and state")]
    if facts.revision_before is not None and facts.revision_after is not None:
        words.append(
            gettext("compaction revision %(before)d → %(after)d")
            % {"before": facts.revision_before, "after": facts.revision_after}
        )
    if facts.cursor_after_position is not None and facts.cursor_after_position != facts.cursor_before_position:
        words.append(gettext("cursor to row %(row)d") % {"row": facts.cursor_after_position})
    return listed(words)


@register.filter
def event_name(kind: str) -> str:
    """What happened at an event, in the reader's language."""
    names = {
        EventKind.APPENDED: pgettext("event", "rows appended"),
        EventKind.TURN_FINISHED: pgettext("event", "turn finished"),
        EventKind.PASS: pgettext("event", "pass"),
        EventKind.REWOUND: pgettext("event", "rewound"),
        EventKind.RESET: pgettext("event", "begun anew"),
        EventKind.UNDO: pgettext("event", "pass undone"),
        EventKind.HELD: pgettext("event", "passes held"),
        EventKind.RESUMED: pgettext("event", "passes resumed"),
        EventKind.POLICY: pgettext("event", "settings changed"),
        EventKind.IMPORTED: pgettext("event", "imported"),
        EventKind.ENDED: pgettext("event", "ended"),
        EventKind.FAILED: pgettext("event", "something failed here"),
    }
    return names[EventKind(kind)]
