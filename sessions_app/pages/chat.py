"""What the chat page shows beside the rows: the answer that comes, how the newest turn ended, and who may write."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from compaction.messages import Role, RowKind
from sessions_app.main_model.connecting import is_reachable
from sessions_app.models import (
    AnswerStatus,
    ChatAnswer,
    CompactionPass,
    MessageRow,
    Play,
    PlayStatus,
    Session,
    Turn,
)
from sessions_app.pages.endpoint_faults import FaultWords, fault_words
from sessions_app.pages.pass_places import light_passes
from sessions_app.pages.pass_words import icon_of, is_failed, kind_words, outcome_words, reason_words
from sessions_app.punctuation import colon, end, listed
from sessions_app.queries.waiting import waiting_turns
from sessions_app.rendering.markdown import render_markdown
from sessions_app.services.chat import SILENT
from sessions_app.templatetags.site import duration_ms, number

# A turn whose end nobody has taken up for so long waits for a worker that may not be there.
LATE: Final = timedelta(seconds=15)
CHAT: Final = "chat"


class Blocked(StrEnum):
    """Why nothing can be said here."""

    NO_MODEL = "no_model"
    IMPORTED = "imported"
    READER = "reader"
    PLAYING = "playing"


class Ending(StrEnum):
    """How far the end of a turn is."""

    WAITS = "waits"
    LATE = "late"
    RUNS = "runs"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class AnswerView:
    """The newest answer, while it comes or when it needs a word. can_ask_again: nothing of it became a row.

    waits_for_pass: the model is not asked yet, because the pass after the turn before is still to come.
    """

    answer: ChatAnswer
    html: SafeString
    fault: FaultWords
    can_ask_again: bool
    waits_for_pass: bool = False

    @property
    def is_running(self) -> bool:
        return self.answer.status == AnswerStatus.RUNNING


@dataclass(frozen=True, slots=True)
class PassLine:
    """One pass after the turn, in words. saved_tokens: None when it changed nothing."""

    made_by: CompactionPass
    icon: str
    words: str
    is_failed: bool


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The end of the newest turn that has one. say: the sentence that is read out."""

    number: int
    ending: Ending
    passes: tuple[PassLine, ...]
    reply_ms: int | None
    pass_ms: int | None
    was_interrupted: bool

    @property
    def say(self) -> str:
        if self.ending is Ending.RUNS:
            return gettext("The pass after turn %(turn)d is running.") % {"turn": self.number}
        if self.ending is Ending.OVER:
            return " ".join(line.words for line in self.passes) or gettext("No pass was due.")
        return ""


@dataclass(frozen=True, slots=True)
class ChatPage:
    """Everything beside the rows. blocked: None when the reader may write."""

    answer: AnswerView | None
    turn_end: TurnEnd | None
    blocked: Blocked | None


def read_chat(session: Session, *, may_write: bool) -> ChatPage:
    """The chat page as it is now. `session` comes with its project."""
    return ChatPage(read_answer(session), read_turn_end(session), blocked_by(session, may_write))


def blocked_by(session: Session, may_write: bool) -> Blocked | None:
    """Why nothing can be said in a session."""
    if not may_write:
        return Blocked.READER
    if session.source != Session.HOSTED:
        return Blocked.IMPORTED
    if Play.objects.filter(session_id=session.pk, status=PlayStatus.RUNNING).exists():
        return Blocked.PLAYING
    return None if is_reachable(session.project) else Blocked.NO_MODEL


def read_answer(session: Session) -> AnswerView | None:
    """The newest answer; None when there is none, or when it stands among the rows and needs no word."""
    answer = ChatAnswer.objects.filter(session_id=session.pk).order_by("-id").first()
    if answer is None or answer.status == AnswerStatus.DONE:
        return None
    newest = newest_message(session)
    if newest is None:
        return None
    if answer.is_running:
        # Its row is there a moment before the answer is noted as done: the two are never shown beside each other.
        has_arrived = newest.role == Role.ASSISTANT and newest.pk > answer.asked_row_id
        return None if has_arrived else running_view(answer)
    waits = answer.answer_row_id is None
    if newest.pk != (answer.asked_row_id if waits else answer.answer_row_id):
        return None
    return AnswerView(answer, render_markdown(answer.text), fault_words(answer.error), waits)


def running_view(answer: ChatAnswer) -> AnswerView:
    """An answer that comes, or that nobody works on any more."""
    if answer.heard_at + SILENT < timezone.now():
        answer.status = AnswerStatus.FAILED
        return AnswerView(answer, render_markdown(answer.text), fault_words("site_stopped"), False)
    waits = not answer.text and not answer.is_thinking and bool(waiting_turns(answer.session_id))
    return AnswerView(answer, render_markdown(answer.text), fault_words(""), False, waits)


def newest_message(session: Session) -> MessageRow | None:
    """The newest live row that somebody said."""
    rows = MessageRow.objects.filter(session_id=session.pk, died_seq__isnull=True, kind=RowKind.MESSAGE.value)
    return rows.order_by("-position", "-id").only("id", "role", "position").first()


def read_turn_end(session: Session) -> TurnEnd | None:
    """The end of the newest turn whose reply was sent; None before the first one."""
    turns = Turn.objects.filter(session_id=session.pk, reply_sent_at__isnull=False)
    turn = turns.filter(number__gte=session.turns_total - 1).order_by("-number").first()
    if turn is None or turn.reply_sent_at is None:
        return None
    made = light_passes(session.pk).filter(turn=turn.number).order_by("number")
    return TurnEnd(
        number=turn.number,
        ending=ending_of(turn),
        passes=tuple(pass_line(one) for one in made),
        reply_ms=milliseconds(turn.reply_sent_at - turn.started_at) if turn.started_at else None,
        pass_ms=milliseconds(turn.ended_at - turn.finalizing_at) if turn.ended_at and turn.finalizing_at else None,
        was_interrupted=turn.interrupted,
    )


def ending_of(turn: Turn) -> Ending:
    """How far a turn's end is. Its reply was sent."""
    if turn.ended_at is not None:
        return Ending.OVER
    if turn.finalizing_at is not None:
        return Ending.RUNS
    assert turn.reply_sent_at is not None
    return Ending.LATE if turn.reply_sent_at + LATE < timezone.now() else Ending.WAITS


def milliseconds(span: timedelta) -> int:
    return max(0, round(span.total_seconds() * 1_000))


def pass_line(made_by: CompactionPass) -> PassLine:
    """What a pass did, in a sentence."""
    named = gettext("Pass %(number)d (%(kind)s)") % {"number": made_by.number, "kind": kind_words(made_by)}
    return PassLine(made_by, icon_of(made_by), named + colon() + deed(made_by), is_failed(made_by))


def deed(made_by: CompactionPass) -> str:
    """The second half of the sentence."""
    took = duration_ms(made_by.duration_ms)
    before, after = made_by.tokens_before, made_by.tokens_after
    if is_failed(made_by) or not made_by.committed or before is None or after is None:
        reason = reason_words(made_by)
        return listed(one for one in (outcome_words(made_by), reason) if one) + end()
    rows = archived_rows(made_by)
    archived = ngettext("archived %(rows)s row", "archived %(rows)s rows", rows) % {"rows": number(rows)}
    return gettext("%(archived)s; the context went from %(before)s to %(after)s tokens in %(took)s.") % {
        "archived": archived,
        "before": number(before),
        "after": number(after),
        "took": took,
    }


def archived_rows(made_by: CompactionPass) -> int:
    """How many messages a pass archived."""
    rows = MessageRow.objects.filter(session_id=made_by.session_id, archived_by_id=made_by.pk)
    return rows.filter(kind=RowKind.MESSAGE.value).count()
