"""One accepted request to the gateway, worked on in a thread of its own and read by the server's loop as it goes on.

The thread does everything that waits: the database, passes that are due, the main model. It puts what it has into a
queue: first a head, then pieces of the body. When the client goes away the line to the main model is cut, and what had
come is stored all the same. While the main model is waited for, no database connection is held.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Final

from compaction.endpoints.answer_body import EVENT_STREAM
from compaction.endpoints.endpoint import Dialect
from compaction.endpoints.http_line import Line
from compaction.errors import InvalidPolicy
from compaction.http_main_model import Passage
from compaction.talk import TalkAnswer
from compaction.wording import worded
from sessions_app import clock
from sessions_app.gateway.asking import Asked, read_asked
from sessions_app.gateway.held_end import HeldEnd
from sessions_app.gateway.outgoing import outgoing_body
from sessions_app.gateway.places import Placed, place
from sessions_app.gateway.refusals import GatewayRefusal, broken_off, from_upstream, refusal
from sessions_app.gateway.room import PROCESS_ROOM
from sessions_app.main_model.answering import enter_call, message_to_store, turn_end_of
from sessions_app.main_model.connecting import Connection, connect
from sessions_app.main_model.keeping import store_patiently
from sessions_app.main_model.readying import ready_session
from sessions_app.main_model.releasing import release_connection
from sessions_app.main_model.sending import sending_of
from sessions_app.models import Project, Session
from sessions_app.services.answers import store_answer
from sessions_app.services.losses import tell_loss
from sessions_app.services.prompts import note_prompt
from sessions_app.token_counting import site_counter

SESSION_HEADER: Final = "X-Hermes-Session"
JSON_TYPE: Final = "application/json"
_NO_MODEL: Final = (
    "This project has no main model that can be asked: {}. Set it in the `model:` block of the project's settings."
)
_WRONG_DIALECT: Final = (
    "The project's main model is asked in Anthropic's dialect. The gateway passes chat completions on as they are, so "
    "it needs an OpenAI-compatible endpoint."
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an answer."""

    status: int
    media_type: str
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def is_stream(self) -> bool:
        """Whether the body comes piece by piece."""
        return self.media_type == EVENT_STREAM


class Relay:
    """The work on one request to `project` by somebody who may. Make it inside a running loop, then `start` it."""

    def __init__(self, project: Project, body: bytes, headers: Mapping[str, str]) -> None:
        self._project, self._body, self._headers = project, body, headers
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Head | bytes | None] = asyncio.Queue()
        self._line = Line()
        self._head: Head | None = None
        self._held = HeldEnd()
        self._media_type = ""
        self._whole: list[bytes] = []
        self._session_id = ""

    def start(self) -> None:
        """Begin to work. Raises GatewayRefusal when too much work is under way."""
        PROCESS_ROOM.enter(len(self._body))
        try:
            Thread(target=self._run, daemon=True, name="gateway").start()
        except BaseException:
            PROCESS_ROOM.leave(len(self._body))
            raise

    def cancel(self) -> None:
        """Nobody reads any more."""
        self._line.cut()

    async def head(self) -> Head:
        """The head of the answer, as soon as it is known."""
        found = await self._queue.get()
        assert isinstance(found, Head), "the head comes first"
        return found

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body, piece by piece. Leaving early ends the work."""
        is_over = False
        try:
            while isinstance(piece := await self._queue.get(), bytes):
                yield piece
            is_over = True
        finally:
            if not is_over:
                self.cancel()

    def _put(self, item: Head | bytes | None) -> None:
        # The loop may have ended with its server.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._queue.put_nowait, item)

    def _run(self) -> None:
        try:
            self._serve()
        except GatewayRefusal as refused:
            self._refuse(refused)
        except Exception as error:
            self._refuse(fault_of_the_site(error))
        finally:
            PROCESS_ROOM.leave(len(self._body))
            release_connection()
            self._put(None)

    def _refuse(self, refused: GatewayRefusal) -> None:
        if self._head is not None:
            self._put(_event(refused.body))
            return
        self._begin(refused.status, JSON_TYPE, refused.headers)
        self._put(refused.body.encode())

    def _begin(self, status: int, media_type: str, headers: Mapping[str, str] | None = None) -> None:
        named = {SESSION_HEADER: self._session_id} if self._session_id else {}
        self._head = Head(status, media_type, tuple({**named, **(headers or {})}.items()))
        self._put(self._head)

    def _serve(self) -> None:
        asked = read_asked(self._body, self._headers)
        connection = _connected(self._project, asked)
        placed = place(self._project, asked)
        self._session_id = placed.session.public_id
        _note_prompt(placed.session, asked)
        answer = self._answer(connection, placed, asked)
        _keep(placed, answer)
        self._end(answer)

    def _answer(self, connection: Connection, placed: Placed, asked: Asked) -> TalkAnswer:
        session_id = placed.session.pk
        waited = ready_session(session_id)
        sending = sending_of(Session.objects.select_related("project").get(pk=session_id))
        body = outgoing_body(asked, placed.reconciled.row_keys, sending, connection.model.model)
        at = clock.now()
        release_connection()
        answer = connection.asked.pass_on(body, Passage(self._hear_head, self._pass_on), self._line)
        enter_call(session_id, connection, answer, at, sending.told(waited.waited_ms, waited.went_ahead))
        return answer

    def _hear_head(self, status: int, media_type: str) -> None:
        """The head of a good answer. One that comes whole is kept until it is known to be one."""
        self._media_type = media_type
        if media_type == EVENT_STREAM:
            self._begin(status, media_type)

    def _pass_on(self, piece: bytes) -> None:
        if self._head is None:
            self._whole.append(piece)
        elif ready := self._held.pass_on(piece):
            self._put(ready)

    def _end(self, answer: TalkAnswer) -> None:
        """The end of the body, now that the answer is stored, or can't be."""
        if self._head is None and answer.error:
            raise from_upstream(answer)
        if self._head is None:
            self._begin(200, self._media_type or JSON_TYPE)
            self._put(b"".join(self._whole))
        elif answer.error:
            self._put(_event(broken_off(answer)))
        elif rest := self._held.rest():
            self._put(rest)


def fault_of_the_site(error: Exception) -> GatewayRefusal:
    """What a client is told of a fault that is ours. It is logged here."""
    logger.error("a request to the gateway failed (%s)", type(error).__name__, exc_info=error)
    return refusal(500, "This failed because of a fault of the site. It is in the site's log.", "internal")


def _connected(project: Project, asked: Asked) -> Connection:
    try:
        connection = connect(project, is_streamed=asked.is_streamed, repeats_answered=False)
    except InvalidPolicy as error:
        raise refusal(400, _NO_MODEL.format(error), "main_model_missing") from None
    if connection.endpoint.dialect is not Dialect.OPENAI:
        raise refusal(400, _WRONG_DIALECT, "main_model_not_compatible")
    return connection


def _note_prompt(session: Session, asked: Asked) -> None:
    tokens = asked.overhead_tokens(site_counter())
    note_prompt(session.pk, asked.prompt, asked.tools, asked.prompt_digest, tokens, asked.model or None)


def _keep(placed: Placed, answer: TalkAnswer) -> None:
    """Store the answer, whole or broken off, and end its turn if it ends one. Raises nothing: the client gets what has
    come also when it can't be stored, and its next request tells it back."""
    new = message_to_store(answer)
    if new is None:
        return
    base, session_id = placed.reconciled.last_prefix, placed.session.pk
    try:
        store_patiently(partial(store_answer, session_id, new, turn_end_of(answer), site_counter(), base=base))
    except Session.DoesNotExist:
        logger.info("session %s was deleted while its answer came", session_id)
    except Exception as error:
        tell_loss(session_id, worded("An answer was delivered but could not be stored"), error)


def _event(body: str) -> bytes:
    """An event behind whatever had been passed on."""
    return f"\n\ndata: {body}\n\n".encode()
