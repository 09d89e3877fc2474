"""Asking the main model for the next answer in a session, and storing what came of it.

Passes that are due come first (`readying`). The answer becomes a row, whole or as much of it as had come; the call goes
to the ledger whatever came of it, and an entry that fails costs no answer; the turn is over when the answer calls no
tool, or when it was broken off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from compaction.endpoints.http_line import Line
from compaction.summarizer import Reply
from compaction.talk import Piece, TalkAnswer, TalkQuestion
from sessions_app import clock
from sessions_app.main_model.connecting import Connection, connect
from sessions_app.main_model.keeping import store_patiently
from sessions_app.main_model.readying import ready_session
from sessions_app.main_model.releasing import release_connection
from sessions_app.main_model.sending import sending_of
from sessions_app.models import CallPurpose, Session
from sessions_app.pricing import cost_usd
from sessions_app.services import CallMade, ContextSent, NewMessage, answers, record_calls
from sessions_app.services.answers import TurnEnd
from sessions_app.token_counting import site_counter


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of asking. row_id: the stored answer; None when nothing had come."""

    answer: TalkAnswer
    row_id: int | None


def answer_session(
    session_id: int,
    *,
    tools: tuple[str, ...] = (),
    on_piece: Callable[[Piece], None] | None = None,
    line: Line | None = None,
    client_id: str | None = None,
) -> Answered:
    """Ask the project's main model for the answer to the newest rows of a session, and store it.

    tools: JSON texts, as the chat completions dialect writes tools. on_piece: called with each piece as it comes, in
    this thread; None asks for the whole answer at once. Cutting `line` from another thread ends the call; what had come
    is stored as an interrupted answer. client_id: of the answer's row; one that is there already is not stored again.
    Takes as long as the answer: call it from a thread. Failures of the other side
    are in the answer (`error`). Raises Session.DoesNotExist, and InvalidPolicy when no main model can be reached.
    """
    session = Session.objects.select_related("project").get(pk=session_id)
    asked = connect(session.project, is_streamed=on_piece is not None)
    waited = ready_session(session_id)
    session.refresh_from_db()
    sending = sending_of(session)
    question = TalkQuestion(sending.view.messages, tools, asked.model.max_output_tokens or None)
    at = clock.now()
    release_connection()
    answer = asked.asked.ask(question, on_piece, line)
    enter_call(session_id, asked, answer, at, sending.told(waited.waited_ms, waited.went_ahead))
    store = partial(store_answer, session_id, answer, client_id)
    # Without an id a second try could store it twice.
    return Answered(answer, store() if client_id is None else store_patiently(store))


def enter_call(session_id: int, asked: Connection, answer: TalkAnswer, at: datetime, sent: ContextSent) -> None:
    """Enter a call to the main model in the ledger. Raises nothing: the answer comes first."""
    model = answer.model or asked.model.model or None
    reply = Reply(
        error=answer.error,
        model=answer.model,
        usage=answer.usage,
        duration_ms=answer.duration_ms,
        first_token_ms=answer.first_token_ms,
    )
    call = CallMade(
        purpose=CallPurpose.MAIN,
        at=at,
        reply=reply,
        provider=asked.endpoint.provider,
        endpoint=asked.endpoint.shown_address,
        model=model,
        cost_usd=cost_usd(model, asked.endpoint.shown_address, answer.usage, at),
        sent=sent,
    )
    record_calls(session_id, [call])


def store_answer(session_id: int, answer: TalkAnswer, client_id: str | None = None) -> int | None:
    """Append an answer and end its turn if it ends one; returns the row's id, None when there is nothing to store.

    A refused or failed call leaves the turn open: whoever asked may ask again. One that broke off ends it.
    """
    new = message_to_store(answer, client_id)
    if new is None:
        return None
    return answers.store_answer(session_id, new, turn_end_of(answer), site_counter())


def turn_end_of(answer: TalkAnswer) -> TurnEnd:
    """What an answer means for its turn."""
    if not answer.is_complete:
        return TurnEnd.INTERRUPTED
    return TurnEnd.OVER if answer.ends_turn else TurnEnd.GOES_ON


def message_to_store(answer: TalkAnswer, client_id: str | None = None) -> NewMessage | None:
    """The row that holds an answer; None when nothing had come."""
    if answer.message is None:
        return None
    usage = answer.usage
    return NewMessage(
        answer.message,
        client_id=client_id,
        model=answer.model,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens,
    )
