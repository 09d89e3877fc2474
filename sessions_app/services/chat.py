"""Chat: what a person says is stored, an answer is begun, follows the model piece by piece, and comes to its end.

Must not ask the model. Sending the same thing again under its id stores nothing twice and begins nothing twice. The
answer's row has an id of ours for the same reason: who asks the model and who settles what a process left behind may
both want to store it. The session is always locked before an answer.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.utils import timezone

from compaction.messages import Message, Role, RowKind
from compaction.storable import storable_text
from compaction.tokens import TokenCounter
from sessions_app.models import AnswerStatus, ChatAnswer, MessageRow, Session
from sessions_app.notifications import ANSWER_KIND, Notice, notify
from sessions_app.services.appending import NewMessage, append_rows
from sessions_app.services.locking import lock_session
from sessions_app.services.turns import finish_turn

# Whoever asks the model gives a sign of life several times a second; a process that is gone gives none.
SILENT: Final = timedelta(seconds=30)
SITE_STOPPED: Final = "site_stopped"
# Finished answers are only kept so that a sending that comes again finds its own.
KEPT_ANSWERS: Final = 20


class AnswerRunning(Exception):
    """The model still answers in this session."""


class NothingToAnswer(Exception):
    """The session ends with an answer, or has no row."""


@dataclass(frozen=True, slots=True)
class Begun:
    """An answer, and whether it is this call that has begun it: then the caller asks the model."""

    answer: ChatAnswer
    is_new: bool


def say(session_id: int, client_id: str, text: str, counter: TokenCounter) -> Begun:
    """Store what a person says and begin an answer to it. Raises AnswerRunning, and Session.DoesNotExist."""
    with transaction.atomic():
        lock_session(session_id)
        if found := ChatAnswer.objects.filter(session_id=session_id, client_id=client_id).first():
            return Begun(found, False)
        _require_silence(session_id, counter)
        row = NewMessage(Message(Role.USER, storable_text(text)), client_id=f"chat-{client_id}")
        (row_id,) = append_rows(session_id, [row], counter).row_ids
        return Begun(_begin(session_id, client_id, row_id), True)


def ask_again(session_id: int, client_id: str, counter: TokenCounter) -> Begun:
    """Begin another answer to what was said last. Raises AnswerRunning, NothingToAnswer, and Session.DoesNotExist."""
    with transaction.atomic():
        lock_session(session_id)
        if found := ChatAnswer.objects.filter(session_id=session_id, client_id=client_id).first():
            return Begun(found, False)
        _require_silence(session_id, counter)
        row = waiting_row(session_id)
        if row is None:
            raise NothingToAnswer
        return Begun(_begin(session_id, client_id, row.pk), True)


def waiting_row(session_id: int) -> MessageRow | None:
    """The newest row if it waits for an answer; None when it is one, or there is no row."""
    live = MessageRow.objects.filter(session_id=session_id, died_seq__isnull=True, kind=RowKind.MESSAGE.value)
    row = live.order_by("-position", "-id").only("id", "role").first()
    return row if row is not None and row.role in (Role.USER, Role.TOOL) else None


def _require_silence(session_id: int, counter: TokenCounter) -> None:
    """Raise AnswerRunning while somebody answers; what a process that is gone has left is settled first."""
    running = ChatAnswer.objects.filter(session_id=session_id, status=AnswerStatus.RUNNING).first()
    if running is None:
        return
    if running.heard_at >= timezone.now() - SILENT:
        raise AnswerRunning
    _settle(running, counter)


def _begin(session_id: int, client_id: str, row_id: int) -> ChatAnswer:
    now = timezone.now()
    answer = ChatAnswer.objects.create(
        session_id=session_id, client_id=client_id, asked_row_id=row_id, started_at=now, heard_at=now
    )
    finished = ChatAnswer.objects.filter(session_id=session_id).exclude(status=AnswerStatus.RUNNING)
    kept = list(finished.order_by("-id").values_list("pk", flat=True)[KEPT_ANSWERS - 1 : KEPT_ANSWERS])
    if kept:
        finished.filter(pk__lt=kept[0]).delete()
    _tell(answer)
    return answer


def note_progress(answer: ChatAnswer, text: str, is_thinking: bool) -> bool:
    """Note a sign of life and what has come so far; False when somebody asked to stop, or the answer is over."""
    text = storable_text(text)
    has_changed = text != answer.text or is_thinking != answer.is_thinking
    answer.text, answer.is_thinking = text, is_thinking
    with transaction.atomic():
        running = ChatAnswer.objects.filter(pk=answer.pk, status=AnswerStatus.RUNNING)
        if has_changed:
            running.update(heard_at=timezone.now(), text=text, is_thinking=is_thinking)
            _tell(answer)
        else:
            running.update(heard_at=timezone.now())
    return running.filter(stop_requested=False).exists()


def stop_answer(answer_id: int) -> bool:
    """Ask for the end of an answer. False when it is over already."""
    running = ChatAnswer.objects.filter(pk=answer_id, status=AnswerStatus.RUNNING)
    return running.update(stop_requested=True) > 0


def finish_answer(
    answer: ChatAnswer, status: AnswerStatus, *, row_id: int | None = None, error: str = "", detail: str = ""
) -> None:
    """Note how an answer ended. Its text is kept only where no row holds it."""
    running = ChatAnswer.objects.filter(pk=answer.pk, status=AnswerStatus.RUNNING)
    with transaction.atomic():
        running.update(
            status=status,
            answer_row_id=row_id,
            text="" if row_id is not None else answer.text,
            error=storable_text(error),
            error_detail=storable_text(detail),
            finished_at=timezone.now(),
        )
        _tell(answer)


def settle_silent_answers(counter: TokenCounter) -> int:
    """End the answers of processes that are gone: what had come becomes a row, as after a stop. Returns how many."""
    late = ChatAnswer.objects.filter(status=AnswerStatus.RUNNING, heard_at__lt=timezone.now() - SILENT)
    answers = list(late.order_by("id"))
    for answer in answers:
        with suppress(Session.DoesNotExist), transaction.atomic():
            lock_session(answer.session_id)
            locked = late.select_for_update().filter(pk=answer.pk).first()
            if locked is not None:
                _settle(locked, counter)
    return len(answers)


def answer_client_id(answer: ChatAnswer) -> str:
    """The id under which the row of an answer is stored, whoever stores it."""
    return f"answer-{answer.pk}"


def _settle(answer: ChatAnswer, counter: TokenCounter) -> None:
    """End an answer whose process is gone. It may have gone when the answer was stored and nothing else was noted."""
    stored = MessageRow.objects.filter(session_id=answer.session_id, foreign_id=answer_client_id(answer))
    row_id = stored.values_list("id", flat=True).first()
    if row_id is not None:
        finish_turn(answer.session_id)
        finish_answer(answer, AnswerStatus.DONE, row_id=row_id)
        return
    if answer.text.strip():
        row = NewMessage(Message(Role.ASSISTANT, answer.text), client_id=answer_client_id(answer))
        row_id = append_rows(answer.session_id, [row], counter).row_ids[0]
        finish_turn(answer.session_id, interrupted=True)
    finish_answer(answer, AnswerStatus.FAILED, row_id=row_id, error=SITE_STOPPED)


def _tell(answer: ChatAnswer) -> None:
    notify(Notice(answer.session_id, 0, ANSWER_KIND, (answer.pk,)))
