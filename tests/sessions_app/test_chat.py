"""The chat: what a person says is stored once, the answer streams and is stored, and every failure can be got over."""

import asyncio
import json
import threading
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob
from row_builder import COUNTER, assistant, user

from sessions_app import deferring, services
from sessions_app.chat import answering
from sessions_app.chat.answering import begin_answering
from sessions_app.models import AnswerStatus, ChatAnswer, MemberRole, MessageRow, Session, Turn
from sessions_app.pages.chat import Blocked, Ending, read_chat
from sessions_app.services.chat import (
    SILENT,
    AnswerRunning,
    NothingToAnswer,
    ask_again,
    say,
    settle_silent_answers,
    stop_answer,
)
from tests.compaction.loopback import events, failure, serving

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback_is_allowed")]
PATIENCE_SECONDS = 20


@pytest.fixture(autouse=True)
def no_thread_is_left(loopback_is_allowed):
    yield
    for thread in threading.enumerate():
        if thread.name.startswith("chat-answer-"):
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()


@pytest.fixture
def page(client, owner):
    client.force_login(owner)
    return client


def chunk(text, reason=None, **more):
    delta = {"content": text} if text else {}
    return {"model": "served", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more}


USAGE = {"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 7}}
HELLO = events(chunk("Hel"), chunk("**lo**"), chunk("", "stop"), USAGE, "[DONE]")


class Gate:
    """An answer that stands still in the middle until it is let go."""

    def __init__(self, *rest):
        self.has_come = threading.Event()
        self.may_go = threading.Event()
        self.answer = events(chunk("The first half. "), self._stand, *rest)

    def _stand(self):
        self.has_come.set()
        assert self.may_go.wait(PATIENCE_SECONDS)


def use(project, server):
    services.save_main_model(project.pk, {"default": "big", "base_url": server.url})
    project.refresh_from_db()


def said(session, text="hello", client_id="client-0001"):
    """Say something and wait for what comes of it."""
    begun = say(session.pk, client_id, text, COUNTER)
    begin_answering(begun.answer).join(PATIENCE_SECONDS)
    begun.answer.refresh_from_db()
    return begun.answer


def texts(session):
    rows = MessageRow.objects.filter(session_id=session.pk, kind="message").order_by("position")
    return list(rows.values_list("role", "content"))


def wait_for(condition):
    """Wait for something that another thread does."""
    pause = threading.Event()
    for _ in range(PATIENCE_SECONDS * 50):
        if condition():
            return
        pause.wait(0.02)
    raise AssertionError("it never happened")


def test_what_is_said_is_answered_stored_and_ends_the_turn(project, session):
    jobs = ProcrastinateJob.objects.filter(task_name=deferring.FINALIZE_TURN)
    jobs_before = jobs.count()
    with serving(HELLO) as server:
        use(project, server)
        answer = said(session)
        assert server.asked[0].body["messages"] == [{"role": "user", "content": "hello"}]
        assert server.asked[0].body["stream"] is True
    assert answer.status == AnswerStatus.DONE and answer.text == "" and answer.answer_row_id
    assert texts(session) == [("user", "hello"), ("assistant", "Hel**lo**")]
    turn = Turn.objects.get(session=session)
    assert turn.is_finished and turn.reply_sent_at and not turn.interrupted
    assert jobs.count() == jobs_before + 1


def test_the_model_gets_the_compacted_view(project, session, rows):
    rows.turns(4)
    live = rows.live()
    rows.absorb([row.pk for row in live if 5 <= row.position <= 7], "## Notes\n- what was absorbed")
    with serving(HELLO) as server:
        use(project, server)
        said(session, "and now?")
        sent = server.asked[0].body["messages"]
    archived = MessageRow.objects.filter(session=session, archived_by__isnull=False, role="tool")
    assert archived and not any(row.content == message.get("content") for row in archived for message in sent)
    assert sent[-1]["content"].endswith("and now?")


def test_the_same_sending_stores_one_row_and_asks_once(project, session):
    with serving(HELLO) as server:
        use(project, server)
        said(session)
        again = say(session.pk, "client-0001", "hello", COUNTER)
        assert not again.is_new
        assert len(server.asked) == 1
    assert texts(session) == [("user", "hello"), ("assistant", "Hel**lo**")]


def test_one_answer_at_a_time_and_nothing_is_stored_of_a_second_sending(project, session):
    gate = Gate(chunk("The second.", "stop"), "[DONE]")
    with serving(gate.answer) as server:
        use(project, server)
        begun = say(session.pk, "client-0001", "first", COUNTER)
        thread = begin_answering(begun.answer)
        assert gate.has_come.wait(PATIENCE_SECONDS)
        with pytest.raises(AnswerRunning):
            say(session.pk, "client-0002", "second", COUNTER)
        with pytest.raises(AnswerRunning):
            ask_again(session.pk, "client-0003", COUNTER)
        gate.may_go.set()
        thread.join(PATIENCE_SECONDS)
    assert texts(session) == [("user", "first"), ("assistant", "The first half. The second.")]


def test_a_page_that_is_loaded_meanwhile_has_what_has_come(project, session, page):
    gate = Gate(chunk("The second.", "stop"), "[DONE]")
    with serving(gate.answer) as server:
        use(project, server)
        begun = say(session.pk, "client-0001", "first", COUNTER)
        thread = begin_answering(begun.answer)
        wait_for(lambda: ChatAnswer.objects.get().text)
        shown = page.get(reverse("chat", args=[session.public_id])).content.decode()
        assert "The first half." in shown and f"/chat/answer/{begun.answer.pk}/" in shown
        gate.may_go.set()
        thread.join(PATIENCE_SECONDS)
    shown = page.get(reverse("chat", args=[session.public_id])).content.decode()
    assert "data-stream" not in shown and "The second." in shown


def test_a_stopped_answer_keeps_what_had_come_and_is_marked(project, session, page):
    gate = Gate()
    with serving(gate.answer) as server:
        use(project, server)
        begun = say(session.pk, "client-0001", "first", COUNTER)
        thread = begin_answering(begun.answer)
        wait_for(lambda: ChatAnswer.objects.get().text)
        page.post(reverse("chat", args=[session.public_id]), {"action": "stop"})
        thread.join(PATIENCE_SECONDS)
        gate.may_go.set()
    assert ChatAnswer.objects.get().status == AnswerStatus.STOPPED
    assert texts(session) == [("user", "first"), ("assistant", "The first half. ")]
    assert Turn.objects.get(session=session).interrupted
    shown = page.get(reverse("chat", args=[session.public_id])).content.decode()
    assert "You stopped this answer" in shown and "The turn was broken off here" in shown
    assert not stop_answer(begun.answer.pk)


def test_an_answer_that_is_stopped_before_anything_came_can_be_asked_for_again(project, session, page):
    silent, may_go = threading.Event(), threading.Event()

    def wait(handler):
        silent.set()
        may_go.wait(PATIENCE_SECONDS)

    with serving(wait, HELLO) as server:
        use(project, server)
        begun = say(session.pk, "client-0001", "first", COUNTER)
        thread = begin_answering(begun.answer)
        assert silent.wait(PATIENCE_SECONDS)
        assert stop_answer(begun.answer.pk)
        thread.join(PATIENCE_SECONDS)
        may_go.set()
        assert ChatAnswer.objects.get().status == AnswerStatus.STOPPED
        assert "Ask again" in page.get(reverse("chat", args=[session.public_id])).content.decode()
        page.post(reverse("chat", args=[session.public_id]), {"action": "again"})
        wait_for(lambda: ChatAnswer.objects.latest("id").status == AnswerStatus.DONE)
    assert texts(session) == [("user", "first"), ("assistant", "Hel**lo**")]
    assert Turn.objects.get(session=session).is_finished


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (failure(401, "no such key"), "did not accept the key (401)"),
        (failure(400, "maximum context length is 8192 tokens"), "maximum context length is 8192 tokens"),
        (failure(404, "no such model"), "no such model"),
    ],
)
def test_a_failure_is_explained_and_the_answer_can_be_asked_for_again(project, session, page, answer, shown):
    with serving(answer, HELLO) as server:
        use(project, server)
        assert said(session).status == AnswerStatus.FAILED
        assert texts(session) == [("user", "hello")]
        text = page.get(reverse("chat", args=[session.public_id])).content.decode()
        assert shown in text and "Ask again" in text
        begun = ask_again(session.pk, "client-0002", COUNTER)
        begin_answering(begun.answer).join(PATIENCE_SECONDS)
    assert texts(session) == [("user", "hello"), ("assistant", "Hel**lo**")]
    with pytest.raises(NothingToAnswer):
        ask_again(session.pk, "client-0003", COUNTER)


def test_an_answer_that_breaks_off_is_kept_as_interrupted(project, session, page):
    with serving(events(chunk("Half of "))) as server:
        use(project, server)
        answer = said(session)
    assert (answer.status, answer.error) == (AnswerStatus.FAILED, "connection_lost")
    assert texts(session) == [("user", "hello"), ("assistant", "Half of ")]
    shown = page.get(reverse("chat", args=[session.public_id])).content.decode()
    assert "What had come is kept" in shown and "Ask again" not in shown


def test_a_fault_of_ours_is_told_and_leaves_what_was_said(project, session, page, monkeypatch):
    def explode(*arguments, **more):
        raise RuntimeError("secret words of a row")

    monkeypatch.setattr(answering, "answer_session", explode)
    with serving(HELLO) as server:
        use(project, server)
        assert said(session).error == "our_fault"
    shown = page.get(reverse("chat", args=[session.public_id])).content.decode()
    assert "Something of ours failed" in shown and "secret words" not in shown


def test_more_answers_than_the_process_can_follow_are_refused_with_a_word(project, session, page, monkeypatch):
    monkeypatch.setattr(answering, "_places", threading.BoundedSemaphore(1))
    answering._places.acquire()
    with serving(HELLO) as server:
        use(project, server)
        assert said(session).error == "site_busy"
        assert server.asked == []
        assert "too many answers" in page.get(reverse("chat", args=[session.public_id])).content.decode()
        answering._places.release()
        begin_answering(ask_again(session.pk, "client-0002", COUNTER).answer).join(PATIENCE_SECONDS)
    assert texts(session) == [("user", "hello"), ("assistant", "Hel**lo**")]


def test_a_model_that_was_taken_away_meanwhile_is_no_fault(project, session):
    begun = say(session.pk, "client-0001", "hello", COUNTER)
    begin_answering(begun.answer).join(PATIENCE_SECONDS)
    begun.answer.refresh_from_db()
    assert begun.answer.error == "no_endpoint" and begun.answer.error_detail


def test_a_session_that_is_deleted_meanwhile_ends_the_answer_quietly(project, session):
    gate = Gate(chunk("The second.", "stop"), "[DONE]")
    with serving(gate.answer) as server:
        use(project, server)
        begun = say(session.pk, "client-0001", "first", COUNTER)
        thread = begin_answering(begun.answer)
        assert gate.has_come.wait(PATIENCE_SECONDS)
        services.delete_session(session.pk)
        gate.may_go.set()
        thread.join(PATIENCE_SECONDS)
    assert not ChatAnswer.objects.exists() and not Session.objects.filter(pk=session.pk).exists()


def test_the_answer_of_a_process_that_is_gone_is_settled_and_its_words_kept(project, session, page):
    begun = say(session.pk, "client-0001", "hello", COUNTER)
    ChatAnswer.objects.filter(pk=begun.answer.pk).update(text="Half of it")
    assert settle_silent_answers(COUNTER) == 0
    ChatAnswer.objects.filter(pk=begun.answer.pk).update(heard_at=timezone.now() - 2 * SILENT)
    shown = page.get(reverse("chat", args=[session.public_id])).content.decode()
    assert "stopped or started again" in shown and "data-stream" not in shown
    assert settle_silent_answers(COUNTER) == 1 and settle_silent_answers(COUNTER) == 0
    assert texts(session) == [("user", "hello"), ("assistant", "Half of it")]
    assert Turn.objects.get(session=session).interrupted
    assert say(session.pk, "client-0002", "go on", COUNTER).is_new


def test_an_answer_whose_process_went_right_after_storing_it_is_not_stored_again(project, session):
    with serving(HELLO) as server:
        use(project, server)
        answer = said(session)
    Turn.objects.filter(session=session).update(reply_sent_at=None)
    unnoted = {"status": AnswerStatus.RUNNING, "answer_row_id": None, "text": "Hel**lo**", "finished_at": None}
    ChatAnswer.objects.filter(pk=answer.pk).update(**unnoted, heard_at=timezone.now() - 2 * SILENT)
    assert settle_silent_answers(COUNTER) == 1
    assert texts(session) == [("user", "hello"), ("assistant", "Hel**lo**")]
    answer.refresh_from_db()
    assert answer.status == AnswerStatus.DONE and answer.answer_row_id
    turn = Turn.objects.get(session=session)
    assert turn.reply_sent_at is not None and not turn.interrupted


def test_an_answer_that_was_settled_while_its_process_was_cut_off_is_not_stored_beside_it(project, session):
    gate = Gate(chunk("The second.", "stop"), "[DONE]")
    with serving(gate.answer) as server:
        use(project, server)
        begun = say(session.pk, "client-0001", "first", COUNTER)
        thread = begin_answering(begun.answer)
        assert gate.has_come.wait(PATIENCE_SECONDS)
        running = ChatAnswer.objects.filter(pk=begun.answer.pk)
        wait_for(lambda: running.filter(text__startswith="The first half.").exists())
        with transaction.atomic():
            running.select_for_update().update(heard_at=timezone.now() - 2 * SILENT)
            assert settle_silent_answers(COUNTER) == 1
        gate.may_go.set()
        thread.join(PATIENCE_SECONDS)
    assert [role for role, _ in texts(session)] == ["user", "assistant"]


def test_settling_an_answer_waits_for_the_session_before_it_holds_the_answer(project, session):
    begun = say(session.pk, "client-0001", "hello", COUNTER)
    ChatAnswer.objects.filter(pk=begun.answer.pk).update(text="Half of it", heard_at=timezone.now() - 2 * SILENT)
    with CaptureQueriesContext(connection) as asked:
        settle_silent_answers(COUNTER)
    locking = [query["sql"] for query in asked if "FOR UPDATE" in query["sql"]]
    assert 'FROM "sessions_app_session"' in locking[0] and 'FROM "sessions_app_chatanswer"' in locking[1]


def test_nobody_waits_for_a_process_that_is_gone(project, session):
    begun = say(session.pk, "client-0001", "hello", COUNTER)
    ChatAnswer.objects.filter(pk=begun.answer.pk).update(text="Half of it", heard_at=timezone.now() - 2 * SILENT)
    assert say(session.pk, "client-0002", "go on", COUNTER).is_new
    assert texts(session) == [("user", "hello"), ("assistant", "Half of it"), ("user", "go on")]
    assert settle_silent_answers(COUNTER) == 0


def test_one_can_write_while_the_pass_after_a_turn_waits_or_runs(project, session, page):
    with serving(HELLO) as server:
        use(project, server)
        said(session)
        end = read_chat(session_now(session), may_write=True).turn_end
        assert (end.number, end.ending) == (1, Ending.WAITS)
        services.mark_finalizing(Turn.objects.get(session=session))
        end = read_chat(session_now(session), may_write=True).turn_end
        assert end.ending is Ending.RUNS and "running" in end.say
        begun = say(session.pk, "client-0002", "one more", COUNTER)
        waiting = read_chat(session_now(session), may_write=True)
        assert waiting.answer.waits_for_pass and waiting.turn_end.ending is Ending.RUNS
        services.end_turn(session.pk, 1)
        waiting = read_chat(session_now(session), may_write=True)
        assert not waiting.answer.waits_for_pass and waiting.turn_end.ending is Ending.OVER
        begin_answering(begun.answer).join(PATIENCE_SECONDS)
        services.end_turn(session.pk, 2)
        assert read_chat(session_now(session), may_write=True).turn_end.ending is Ending.OVER


def session_now(session):
    return Session.objects.select_related("project").get(pk=session.pk)


def test_what_a_pass_did_is_told_in_words(project, session, rows):
    rows.turns(4)
    live = rows.live()
    rows.absorb([row.pk for row in live if 5 <= row.position <= 7])
    newest = session_now(session)
    Turn.objects.filter(session=session, number=newest.turns_total).update(
        reply_sent_at=timezone.now(), finalizing_at=timezone.now(), ended_at=timezone.now()
    )
    newest.passes.update(turn=newest.turns_total, tokens_before=900, tokens_after=500, duration_ms=1_200)
    end = read_chat(newest, may_write=True).turn_end
    assert "archived 3 rows; the context went from 900 to 500 tokens in 1.2 s." in end.say


def test_a_turn_that_no_worker_ends_says_so(project, session, rows):
    rows.append(user("a"), assistant("b"))
    services.finish_turn(session.pk)
    Turn.objects.filter(session=session).update(reply_sent_at=timezone.now() - timedelta(minutes=5))
    assert read_chat(session_now(session), may_write=True).turn_end.ending is Ending.LATE


def test_without_a_model_the_page_says_how_to_set_one_and_offers_a_play(project, session, page):
    for address in (reverse("chat", args=[session.public_id]), reverse("new_chat")):
        shown = page.get(address).content.decode()
        assert "No main model is set" in shown and reverse("plays") in shown and "<textarea" not in shown
    refused = page.post(
        reverse("chat", args=[session.public_id]), {"action": "say", "text": "hello", "client_id": "client-0001"}
    )
    assert refused.status_code == 409 and texts(session) == []


def test_a_new_chat_makes_a_session_with_a_title_and_asks_once_however_often_it_is_sent(project, page):
    with serving(HELLO) as server:
        use(project, server)
        shown = page.get(reverse("new_chat")).content.decode()
        assert "Review, big" in shown
        typed = {"project": project.slug, "text": "Where is the parser?\nIt is urgent.", "client_id": "client-0001"}
        answers = [page.post(reverse("new_chat"), typed) for _ in range(2)]
        session = Session.objects.get()
        assert [answer.url for answer in answers] == [reverse("chat", args=[session.public_id])] * 2
        assert session.title == "Where is the parser?"
        wait_for(lambda: ChatAnswer.objects.get().status == AnswerStatus.DONE)
        assert len(server.asked) == 1


@pytest.mark.parametrize("text", ["", "   \n ", "\r\n"])
def test_nothing_to_say_is_refused_with_words_as_a_page_and_for_scripts(project, session, page, text):
    with serving(HELLO) as server:
        use(project, server)
        typed = {"action": "say", "text": text, "client_id": "client-0001"}
        address = reverse("chat", args=[session.public_id])
        assert page.post(address, typed).status_code == 422
        refused = page.post(address, typed, headers={"Accept": "application/json"})
        assert refused.status_code == 422 and refused.json()["error"] == "Write something first."
        typed = {"project": project.slug, "text": text, "client_id": "client-0001"}
        assert page.post(reverse("new_chat"), typed).status_code == 422
    assert not MessageRow.objects.exists()


def test_a_long_message_goes_through_whole(project, session, page):
    text = "多 line of words " * 20_000
    with serving(HELLO) as server:
        use(project, server)
        typed = {"action": "say", "text": text, "client_id": "client-0001"}
        answer = page.post(reverse("chat", args=[session.public_id]), typed, headers={"Accept": "application/json"})
        assert answer.status_code == 200
        wait_for(lambda: ChatAnswer.objects.get().status == AnswerStatus.DONE)
        assert server.asked[0].body["messages"][0]["content"] == text.rstrip()


def test_what_was_typed_comes_back_when_it_is_refused_without_scripts(project, session, page):
    gate = Gate(chunk("done", "stop"), "[DONE]")
    with serving(gate.answer) as server:
        use(project, server)
        begun = say(session.pk, "client-0001", "first", COUNTER)
        thread = begin_answering(begun.answer)
        assert gate.has_come.wait(PATIENCE_SECONDS)
        typed = {"action": "say", "text": "my second thought", "client_id": "client-0002"}
        refused = page.post(reverse("chat", args=[session.public_id]), typed)
        assert refused.status_code == 409
        assert "my second thought</textarea>" in refused.content.decode()
        assert "still answering" in refused.content.decode()
        gate.may_go.set()
        thread.join(PATIENCE_SECONDS)


def test_imported_sessions_readers_and_plays_are_told_why_they_can_not_write(project, session):
    with serving(HELLO) as server:
        use(project, server)
        fresh = session_now(session)
        assert read_chat(fresh, may_write=True).blocked is None
        assert read_chat(fresh, may_write=False).blocked is Blocked.READER
        fresh.source = "hermes"
        assert read_chat(fresh, may_write=True).blocked is Blocked.IMPORTED


def test_readers_can_follow_but_not_write_and_strangers_see_nothing(client, project, session):
    begun = say(session.pk, "client-0001", "hello", COUNTER)
    viewer = User.objects.create_user("vera")
    services.add_member(project, viewer, MemberRole.VIEWER)
    address = reverse("chat", args=[session.public_id])
    stream = reverse("chat_stream", args=[session.public_id, begun.answer.pk])
    client.force_login(viewer)
    assert client.get(address).status_code == 200
    for action in ("say", "again", "stop"):
        assert client.post(address, {"action": action, "text": "x", "client_id": "client-0009"}).status_code == 403
    client.force_login(User.objects.create_user("stranger"))
    assert client.get(address).status_code == client.get(stream).status_code == 404
    assert client.post(address, {"action": "stop"}).status_code == 404
    assert not ChatAnswer.objects.get().stop_requested


def test_an_answer_of_another_session_is_not_streamed(project, session, page):
    other = services.create_session(project, "Another")
    begun = say(other.pk, "client-0001", "hello", COUNTER)
    assert page.get(reverse("chat_stream", args=[session.public_id, begun.answer.pk])).status_code == 404


def test_the_stream_tells_the_text_as_it_comes_rendered_and_then_its_end(project, session, owner):
    gate = Gate(chunk("<b>and</b> *the* second.", "stop"), "[DONE]")
    with serving(gate.answer) as server:
        use(project, server)
        begun = say(session.pk, "client-0001", "first", COUNTER)
        begin_answering(begun.answer)
        heard = asyncio.run(listen(owner, session, begun.answer, gate))
    assert heard[-1] == ("end", {"status": "done"})
    pictures = [data["html"] for name, data in heard if name == "text"]
    assert any("<p>The first half." in html and "second" not in html for html in pictures)
    assert all("<b>" not in html for html in pictures)


async def listen(owner, session, answer, gate):
    client = AsyncClient()
    await sync_to_async(client.force_login)(owner)
    response = await client.get(reverse("chat_stream", args=[session.public_id, answer.pk]))
    assert response.headers["Content-Type"] == "text/event-stream"
    heard = []
    async for piece in response.streaming_content:
        lines = piece.decode().strip().splitlines()
        if lines[0].startswith("event: "):
            heard.append((lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))))
            if "first half" in str(heard[-1]):
                gate.may_go.set()
    return heard


def test_the_page_asks_as_much_of_a_long_session_as_of_a_short_one(project, session, rows, page):
    address = reverse("chat", args=[session.public_id])
    # So that the tail, which is read to its beginning, is full in both cases.
    Session.objects.filter(pk=session.pk).update(window_tokens=4_000)
    asked = []
    for turns in (60, 120):
        rows.turns(turns)
        with CaptureQueriesContext(connection) as queries:
            shown = page.get(address).content.decode()
        asked.append(len(queries))
    assert asked[0] == asked[1]
    assert shown.count("data-item") < 150


def test_the_catch_up_of_the_chat_page_brings_the_answer_and_the_end_of_the_turn(project, session, page):
    with serving(HELLO) as server:
        use(project, server)
        said(session)
        address = reverse("session_updates", args=[session.public_id])
        brought = page.get(address + "?tab=chat&after=0").content.decode()
        assert 'id="chat-answer"' in brought and 'id="chat-turn-end"' in brought and "Hel<strong>lo</strong>" in brought
        assert 'id="chat-answer"' not in page.get(address + "?tab=transcript&after=0").content.decode()
