"""The steps of a pass as the replay shows them: which ones there are, and what each says in a few words.

A pass shows the steps it had. A failed one ends at the reply; a defrag has no exchange; a turn at which nothing was
done has only its zones. What a source did not record is a step that says so, never an invention.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sessions_app.models import CompactionPass, PassFacts, PassKind, PassOrigin
from sessions_app.pages.pass_words import PLANNED, is_failed, outcome_words, reason_words
from sessions_app.punctuation import listed
from sessions_app.templatetags.site import number


class StepName(StrEnum):
    """What happens in a step."""

    ZONES = "zones"
    EXCHANGE = "exchange"
    EARLIER = "earlier"
    SENT = "sent"
    REPLY = "reply"
    EDIT = "edit"
    DATABASE = "database"
    TELEMETRY = "telemetry"


@dataclass(frozen=True, slots=True)
class StepLabel:
    """One step in the list. number counts from 1."""

    name: StepName
    number: int
    title: str
    heading: str
    note: str


_MICRO = (StepName.ZONES, StepName.EXCHANGE, StepName.SENT, StepName.REPLY)
_DEFRAG = (StepName.EARLIER, StepName.SENT, StepName.REPLY)
_BATCH = (StepName.ZONES, StepName.EARLIER, StepName.SENT, StepName.REPLY)
_PRUNE = (StepName.ZONES,)
_COMMIT = (StepName.EDIT, StepName.DATABASE)


def step_names(facts: PassFacts) -> tuple[StepName, ...]:
    """The steps of a pass, in order."""
    if facts.kind == PassKind.NOTHING:
        return (StepName.ZONES, StepName.TELEMETRY)
    asked = {PassKind.MICRO: _MICRO, PassKind.DEFRAG: _DEFRAG, PassKind.BATCH: _BATCH, PassKind.PRUNE: _PRUNE}
    steps = asked[PassKind(facts.kind)]
    if facts.outcome == PLANNED:
        return tuple(step for step in steps if step is not StepName.REPLY)
    if is_unasked(facts):
        steps = tuple(step for step in steps if step is not StepName.REPLY)
    return (*steps, *(_COMMIT if has_edit(facts) else ()), StepName.TELEMETRY)


def first_step(facts: PassFacts) -> int:
    """The step at which looking begins: of a pass of another program the edit, for what came before it is unknown."""
    if not isinstance(facts, CompactionPass) or facts.origin != PassOrigin.IMPORTED:
        return 1
    steps = step_names(facts)
    return steps.index(StepName.EDIT) + 1 if StepName.EDIT in steps else 1


def is_unasked(facts: PassFacts) -> bool:
    """Whether the summarizer was never asked, by our own record (a foreign one may just not say)."""
    is_ours = not isinstance(facts, CompactionPass) or facts.origin == PassOrigin.ENGINE
    return is_ours and facts.prompt_user is None and facts.kind in (PassKind.MICRO, PassKind.DEFRAG)


def has_edit(facts: PassFacts) -> bool:
    """Whether the pass changed rows."""
    if isinstance(facts, CompactionPass):
        return facts.committed
    edit = facts.edit or {}
    return bool(edit.get("archived") or edit.get("superseded") or edit.get("inserted"))


def step_labels(facts: PassFacts) -> tuple[StepLabel, ...]:
    """The steps with their words."""
    return tuple(
        StepLabel(name, place, *words_of(name, facts)) for place, name in enumerate(step_names(facts), start=1)
    )


def words_of(name: StepName, facts: PassFacts) -> tuple[str, str, str]:
    """Title, heading and note of a step."""
    match name:
        case StepName.ZONES:
            return _("Zones"), _("the zones"), zones_note(facts)
        case StepName.EXCHANGE:
            return _("Exchange"), _("the exchange found"), exchange_note(facts)
        case StepName.EARLIER:
            return _("Earlier summary"), _("the earlier summary"), earlier_note(facts)
        case StepName.SENT:
            return _("Sent text"), _("the text sent"), sent_note(facts)
        case StepName.REPLY:
            return _("Reply"), _("the reply"), reply_note(facts)
        case StepName.EDIT:
            return _("Edit"), _("the edit"), edit_note(facts)
        case StepName.DATABASE:
            return _("Database"), _("the effect in the database"), database_note(facts)
        case StepName.TELEMETRY:
            return _("Telemetry"), _("the log line"), telemetry_note(facts)


def zones_note(facts: PassFacts) -> str:
    zones = facts.zones
    if not zones:
        return _("not recorded") if isinstance(facts, CompactionPass) else _("unknown")
    return _("head {}, middle {}, tail {}").format(zones["head_rows"], zones["middle_rows"], zones["tail_rows"])


def exchange_note(facts: PassFacts) -> str:
    exchanges = facts.exchanges or []
    if not exchanges:
        return _("not recorded")
    first, last = exchanges[0]["first"][0], exchanges[-1]["last"][0]
    return _("row {}").format(first) if first == last else _("rows {}–{}").format(first, last)


def earlier_note(facts: PassFacts) -> str:
    if facts.summary_before is None:
        return _("not recorded")
    return _("none") if not facts.summary_before else _("{} characters").format(number(len(facts.summary_before)))


def sent_note(facts: PassFacts) -> str:
    if facts.prompt_user is None:
        return _("never sent") if is_unasked(facts) else _("not recorded")
    if facts.input_tokens:
        size = _("{} tokens").format(number(facts.input_tokens))
    else:
        size = _("{} characters").format(number(len(facts.prompt_user)))
    if not facts.redactions:
        return size
    masks = ngettext("{} redaction", "{} redactions", facts.redactions).format(facts.redactions)
    return listed((size, masks))


def reply_note(facts: PassFacts) -> str:
    if is_failed(facts):
        return reason_words(facts) or outcome_words(facts)
    if facts.reply_text is None:
        return _("not recorded")
    if facts.output_tokens:
        return _("{} tokens, usable").format(number(facts.output_tokens))
    return _("usable")


def edit_note(facts: PassFacts) -> str:
    edit = facts.edit or {}
    gone = len(edit.get("archived") or ()) + len(edit.get("superseded") or ())
    return _("{} out, {} in").format(gone, len(edit.get("inserted") or ()))


def database_note(facts: PassFacts) -> str:
    if not isinstance(facts, CompactionPass):
        return _("nothing: a simulation")
    if facts.revision_before is None or facts.revision_after is None:
        return _("event {}").format(facts.seq)
    return _("revision {} → {}").format(facts.revision_before, facts.revision_after)


def telemetry_note(facts: PassFacts) -> str:
    return _("1 line") if facts.telemetry else _("no line")
