"""An answer on its way: the model is asked in one thread, another notes several times a second what has come.

Must not run in a request: it lasts as long as the answer. The second thread is also the one that hears a wish to stop,
so a model that says nothing for minutes can be stopped like any other. Both end with their process; what they leave
behind is settled by a job.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import Final

from django.db import Error, connection

from compaction.endpoints.http_line import Line
from compaction.errors import InvalidPolicy
from compaction.talk import Piece, PieceKind
from sessions_app.main_model.answering import Answered, answer_session
from sessions_app.main_model.keeping import store_patiently
from sessions_app.models import AnswerStatus, ChatAnswer, Session
from sessions_app.passes.faults import traceback_for_log
from sessions_app.services.chat import answer_client_id, finish_answer, note_progress

NOTE_SECONDS: Final = 0.2
OUR_FAULT: Final = "our_fault"
# Each answer holds two threads of this process; more at a time are refused with a word.
MOST_ANSWERS: Final = 64
TOO_MANY: Final = "site_busy"
NO_ENDPOINT: Final = "no_endpoint"

logger = logging.getLogger(__name__)


class Heard:
    """What has come of an answer so far. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pieces: list[str] = []
        self._has_thought = False

    def add(self, piece: Piece) -> None:
        """Take the next piece."""
        with self._lock:
            if piece.kind in (PieceKind.TEXT, PieceKind.REFUSAL):
                self._pieces.append(piece.text)
            elif piece.kind is PieceKind.REASONING:
                self._has_thought = True

    def now(self) -> tuple[str, bool]:
        """The text so far, and whether only thoughts have come."""
        with self._lock:
            self._pieces = ["".join(self._pieces)]
            return self._pieces[0], self._has_thought and not self._pieces[0]


_places = threading.BoundedSemaphore(MOST_ANSWERS)


def begin_answering(answer: ChatAnswer) -> threading.Thread:
    """Ask the model, in the background."""
    thread = threading.Thread(target=_answer, args=(answer,), name=f"chat-answer-{answer.pk}", daemon=True)
    thread.start()
    return thread


def _answer(answer: ChatAnswer) -> None:
    if not _places.acquire(blocking=False):
        finish_answer(answer, AnswerStatus.FAILED, error=TOO_MANY)
        connection.close()
        return
    try:
        _follow(answer)
    finally:
        _places.release()


def _follow(answer: ChatAnswer) -> None:
    heard, line, is_over = Heard(), Line(), threading.Event()
    noting = threading.Thread(target=_note, args=(answer, heard, line, is_over), daemon=True)
    noting.start()
    try:
        _ask(answer, heard, line, is_over, noting)
    finally:
        is_over.set()
        connection.close()


def _ask(answer: ChatAnswer, heard: Heard, line: Line, is_over: threading.Event, noting: threading.Thread) -> None:
    """Ask, and note how it ended once nobody else notes anything."""
    answered: Answered | None = None
    error, detail = "", ""
    try:
        client_id = answer_client_id(answer)
        answered = answer_session(answer.session_id, on_piece=heard.add, line=line, client_id=client_id)
    except Session.DoesNotExist:
        return
    except InvalidPolicy as problem:
        error, detail = NO_ENDPOINT, problem.said
    except Exception as fault:
        logger.error("chat answer %s failed", answer.pk, exc_info=traceback_for_log(fault))
        error = OUR_FAULT
    is_over.set()
    noting.join()
    if answered is None:
        end = partial(finish_answer, answer, AnswerStatus.FAILED, error=error, detail=detail)
    else:
        end = partial(_finish, answer, answered, line.is_cut)
    store_patiently(end)


def _finish(answer: ChatAnswer, answered: Answered, was_stopped: bool) -> None:
    told = answered.answer
    if was_stopped:
        finish_answer(answer, AnswerStatus.STOPPED, row_id=answered.row_id)
    elif told.error:
        finish_answer(answer, AnswerStatus.FAILED, row_id=answered.row_id, error=told.error, detail=told.error_detail)
    elif answered.row_id is None:
        finish_answer(answer, AnswerStatus.FAILED, error="empty")
    else:
        finish_answer(answer, AnswerStatus.DONE, row_id=answered.row_id)


def _note(answer: ChatAnswer, heard: Heard, line: Line, is_over: threading.Event) -> None:
    """Note what comes until the answer is over. A database that can't be reached for a moment is tried again."""
    try:
        while not is_over.wait(NOTE_SECONDS):
            try:
                if not note_progress(answer, *heard.now()):
                    line.cut()
            except Error as error:
                logger.warning("chat answer %s: progress was not noted (%s)", answer.pk, type(error).__name__)
            finally:
                connection.close()
    finally:
        answer.text, answer.is_thinking = heard.now()
