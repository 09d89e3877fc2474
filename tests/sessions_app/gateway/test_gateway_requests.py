"""Requests to the gateway over real HTTP: what goes out, what comes back, what is stored."""

import json
import socket
import threading

import pytest
from gateway_client import (
    assistant,
    call,
    chunk,
    end_gateway_threads,
    live_texts,
    result,
    rows_of,
    session_of,
    streamed,
    texts_of,
    user,
)
from row_builder import COUNTER

from compaction.extractive import ExtractiveSummarizer
from compaction.messages import Message, Role
from sessions_app import services
from sessions_app.finalizing import finalize_turns
from sessions_app.models import ModelCall, Session, SessionPrompt, Turn
from sessions_app.services import NewMessage, append_rows
from sessions_app.services.tokens import issue_token
from sessions_app.token_counting import site_counter
from tests.compaction.loopback import completion, document, events, failure, hang_up, raw

pytestmark = pytest.mark.django_db(transaction=True)
SYSTEM = {"role": "system", "content": "Be brief."}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
USAGE = {"prompt_tokens": 30, "completion_tokens": 7, "total_tokens": 37}


def test_a_first_request_makes_a_session_and_passes_the_answer_on(client, upstream):
    upstream.script = [completion("hi there", usage=USAGE)]
    answer = client.post(SYSTEM, user("hello"), temperature=0.3, response_format={"type": "text"}, seed=7)
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"] == "hi there"
    session = session_of(answer)
    assert live_texts(session) == ["hello", "hi there"]
    assert (session.title, session.source) == ("hello", "hosted")
    assert upstream.asked[0].body == {
        "model": "big",
        "messages": [SYSTEM, user("hello")],
        "temperature": 0.3,
        "response_format": {"type": "text"},
        "seed": 7,
    }
    [entry] = ModelCall.objects.all()
    assert (entry.session, entry.purpose, entry.input_tokens, entry.error) == (session, "main", 30, "")
    turn = Turn.objects.get()
    assert turn.is_finished and turn.reply_sent_at is not None


def test_a_conversation_is_continued_by_its_history_alone(client):
    first = client.post(SYSTEM, user("hello"))
    second = client.post(SYSTEM, user("hello"), assistant("ok"), user("and now?"))
    assert session_of(first) == session_of(second)
    assert live_texts(session_of(first)) == ["hello", "ok", "and now?", "ok"]
    assert client.sent == [SYSTEM, user("hello"), assistant("ok"), user("and now?")]
    assert Session.objects.count() == 1


def test_a_client_may_name_its_session_in_its_own_words_or_by_the_id_it_was_given(client):
    first = client.post(user("hello"), session="my agent/7")
    again = client.post(user("hello"), assistant("ok"), user("more"), session="my agent/7")
    by_id = client.post(
        user("hello"),
        assistant("ok"),
        user("more"),
        assistant("ok"),
        user("and more"),
        session=session_of(first).public_id,
    )
    assert session_of(first) == session_of(again) == session_of(by_id)
    assert len(live_texts(session_of(first))) == 6
    other = client.post(user("hello"), session="my agent/8")
    assert session_of(other) != session_of(first)


def test_a_stream_comes_piece_by_piece_and_its_end_only_when_the_answer_is_stored(client, upstream):
    middle = threading.Event()
    first, *rest = streamed("Hel", "lo")
    upstream.script = [events(first, rest[0], lambda: middle.wait(10), *rest[1:])]
    seen = []
    with client.http.stream(
        "POST",
        f"{client.site}/v1/chat/completions",
        headers=client.headers(),
        json={"model": "big", "messages": [user("hello")], "stream": True},
    ) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["x-accel-buffering"] == "no"
        public_id = answer.headers["X-Hermes-Session"]
        for line in answer.iter_lines():
            seen.append(line)
            if '"Hel"' in line:
                assert live_texts(Session.objects.get(public_id=public_id)) == ["hello"]
                middle.set()
            if "[DONE]" in line:
                assert live_texts(Session.objects.get(public_id=public_id)) == ["hello", "Hello"]
    data = [line.removeprefix("data: ") for line in seen if line]
    assert data == [item if isinstance(item, str) else json.dumps(item) for item in streamed("Hel", "lo")]
    assert ModelCall.objects.get().first_token_ms is not None


def test_a_tool_round_leaves_the_turn_open_until_the_answer_in_words(client, upstream):
    calls = call("c1")["tool_calls"]
    upstream.script = [completion(None, "tool_calls", tool_calls=calls), completion("a cat")]
    first = client.post(user("what is it?"), tools=[TOOL])
    assert Turn.objects.get().reply_sent_at is None
    sent_back = first.json()["choices"][0]["message"]
    client.post(user("what is it?"), sent_back, result("c1", "meow"), tools=[TOOL])
    session = session_of(first)
    assert [row.role for row in rows_of(session)] == ["user", "assistant", "tool", "assistant"]
    assert Turn.objects.get().is_finished
    assert upstream.asked[1].body["tools"] == [TOOL]
    assert session.fixed_overhead_tokens > 0


def test_what_stands_beside_the_conversation_is_kept_with_the_session_each_time_it_changes(client):
    first = client.post(SYSTEM, user("hello"), tools=[TOOL])
    history = [user("hello"), assistant("ok"), user("more")]
    client.post(SYSTEM, *history, tools=[TOOL])
    newer = {"role": "developer", "content": "It is Tuesday. Be brief."}
    last = client.post(newer, *history, assistant("ok"), user("again"))
    session = session_of(first)
    assert session_of(last) == session and len(live_texts(session)) == 6
    prompts = SessionPrompt.objects.filter(session=session).order_by("number")
    assert [(one.messages, one.tools) for one in prompts] == [([SYSTEM], [TOOL]), ([newer], None)]
    assert prompts[0].seq == 1 < prompts[1].seq < session.last_seq
    assert session.fixed_overhead_tokens == prompts[1].tokens
    assert client.sent[0] == newer


def test_pictures_and_unknown_fields_go_out_as_they_came(client):
    parts = [
        {"type": "text", "text": "what is this?", "cache_control": {"type": "ephemeral"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO", "detail": "low"}},
    ]
    message = {"role": "user", "content": parts, "name": "mira", "odd": [1, {"a": None}]}
    answer = client.post(message, user("please"))
    assert session_of(answer).live_rows == 3
    assert client.sent[0]["content"][:2] == parts
    client.post(message, user("please"), assistant("ok"), user("sure?"))
    assert client.sent[-1] == user("sure?") and len(rows_of(session_of(answer))) == 5


def test_a_part_whose_marks_move_is_still_the_same_message(client):
    def marked(text, is_marked):
        mark = {"cache_control": {"type": "ephemeral"}} if is_marked else {}
        return {"role": "user", "content": [{"type": "text", "text": text, **mark}]}

    first = client.post(marked("hello", True))
    client.post(marked("hello", False), assistant("ok"), marked("more", True))
    assert len(rows_of(session_of(first))) == 4
    assert client.sent == [marked("hello", False), assistant("ok"), marked("more", True)]


def test_of_several_choices_the_first_is_stored_and_another_one_takes_its_place_when_the_client_goes_on_with_it(
    client, upstream
):
    def choice(index, text):
        return {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}

    upstream.script = [document({"model": "m", "choices": [choice(0, "one"), choice(1, "two")]}), completion("ok")]
    first = client.post(user("hello"), n=2, session="choosy")
    session = session_of(first)
    assert len(first.json()["choices"]) == 2 and live_texts(session) == ["hello", "one"]
    client.post(user("hello"), assistant("two"), user("go on"), session="choosy")
    assert live_texts(session) == ["hello", "two", "go on", "ok"]
    assert texts_of(session, died_seq__isnull=False) == ["one"]


def test_errors_of_the_main_model_come_through_with_their_status_and_wait(client, upstream):
    upstream.script = [failure(429, "slow down", headers=(("retry-after", "7"),), type="requests", code="rate_limit")]
    answer = client.post(user("hello"))
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
    assert answer.json() == {"error": {"message": "slow down", "type": "requests", "code": "rate_limit"}}
    assert len(upstream.asked) == 1, "the client decides whether to ask again"
    session = session_of(answer)
    assert live_texts(session) == ["hello"]
    [entry] = ModelCall.objects.all()
    assert (entry.error, entry.session) == ("http_429", session)
    upstream.script = [completion("ok")]
    assert session_of(client.post(user("hello"))) == session
    assert live_texts(session) == ["hello", "ok"]


@pytest.mark.parametrize(
    ("answered", "status", "code"),
    [
        (raw(b"<html><title>Bad gateway</title></html>", 502, "text/html"), 502, "http_502"),
        (failure(400, "no such model"), 400, None),
        (raw(b"not json at all"), 502, "invalid_json"),
        (hang_up, 502, "connection_lost"),
    ],
)
def test_whatever_the_main_model_says_is_told_in_openais_shape(client, upstream, answered, status, code):
    upstream.script = [answered]
    answer = client.post(user("hello"), stream=True)
    error = answer.json()["error"] if answer.status_code != 200 else None
    assert answer.status_code == status
    assert error["message"] and error.get("code") == code
    assert ModelCall.objects.get().error
    assert live_texts(session_of(answer)) == ["hello"]


def test_a_stream_that_breaks_off_ends_with_an_error_and_what_had_come_is_stored(client, upstream):
    upstream.script = [events(*streamed("Hel")[:2])]
    answer = client.post(user("hello"), stream=True)
    last = [line for line in answer.text.splitlines() if line][-1]
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "connection_lost"
    assert "[DONE]" not in answer.text
    session = session_of(answer)
    assert live_texts(session) == ["hello", "Hel"]
    assert Turn.objects.get().interrupted


def test_a_client_that_goes_away_cuts_the_line_and_what_had_come_is_stored(client, upstream):
    gone = threading.Event()

    def until_cut(handler):
        events(*streamed("Hel")[:2])(handler)
        handler.connection.settimeout(20)
        gone.is_cut = handler.connection.recv(1) == b""
        gone.set()

    upstream.script = [until_cut]
    with client.http.stream(
        "POST",
        f"{client.site}/v1/chat/completions",
        headers=client.headers(),
        json={"model": "big", "messages": [user("hello")], "stream": True},
    ) as answer:
        public_id = answer.headers["X-Hermes-Session"]
        assert any('"Hel"' in line for line in answer.iter_lines())
    assert gone.wait(20) and gone.is_cut
    end_gateway_threads()
    session = Session.objects.get(public_id=public_id)
    assert live_texts(session) == ["hello", "Hel"]
    assert ModelCall.objects.get().error == "cancelled"
    assert Turn.objects.get().interrupted
    upstream.script = [completion("Hello, whole")]
    assert session_of(client.post(user("hello"))) == session
    assert live_texts(session) == ["hello", "Hello, whole"]
    assert not Turn.objects.get().interrupted


def test_a_client_that_goes_away_before_the_answer_begins_cuts_the_line_too(client, upstream):
    asked, gone = threading.Event(), threading.Event()

    def silent(handler):
        asked.set()
        handler.connection.settimeout(20)
        gone.is_cut = handler.connection.recv(1) == b""
        gone.set()

    upstream.script = [silent]
    leaving = threading.Thread(target=leave_after, args=(client, asked))
    leaving.start()
    leaving.join(20)
    assert gone.wait(20) and gone.is_cut
    end_gateway_threads()
    assert ModelCall.objects.get().error == "cancelled"


def leave_after(client, asked):
    address = client.site.removeprefix("http://").split(":")
    body = json.dumps({"model": "big", "messages": [user("hello")]})
    with socket.create_connection((address[0], int(address[1]))) as connection:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {client.token}\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        assert asked.wait(20)


def test_two_requests_at_once_on_one_session_store_one_answer(client, upstream):
    both = threading.Barrier(2, timeout=20)

    def together(text):
        def answered(handler):
            both.wait()
            completion(text)(handler)

        return answered

    upstream.script = [together("one"), together("two")]
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(client.post(user("hello"), session="twice"))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    texts = sorted(answer.json()["choices"][0]["message"]["content"] for answer in answers)
    assert texts == ["one", "two"]
    session = session_of(answers[0])
    assert session == session_of(answers[1])
    stored = live_texts(session)
    assert stored[0] == "hello" and len(stored) == 2 and stored[1] in texts
    assert ModelCall.objects.filter(session=session).count() == 2
    rival = next(text for text in texts if text != stored[1])
    upstream.script = [completion("ok")]
    client.post(user("hello"), assistant(rival), user("on"), session="twice")
    assert live_texts(session) == ["hello", rival, "on", "ok"]


def test_a_compacted_session_sends_its_summary_while_the_client_sends_everything(client, project, upstream):
    services.save_policy(
        project.pk,
        {"compression": {"micro_compact": True, "threshold_floor": "off", "threshold": 0.5, "target_ratio": 0.1}},
        None,
    )
    services.save_main_model(project.pk, {"default": "big", "base_url": upstream.url, "context_length": 8_000})
    history = []
    for number in range(12):
        history.append(user(f"question {number}: " + "word " * 40))
        answer = client.post(*history)
        session = session_of(answer)
        finalize_turns(session.pk, ExtractiveSummarizer(site_counter()), site_counter())
        history.append(assistant("ok"))
    session.refresh_from_db()
    assert session.micro_passes > 2
    assert len(rows_of(session)) == 24 and Session.objects.count() == 1
    assert len(client.sent) < len(history) - 1
    assert any("CONTEXT COMPACTION" in str(message["content"]) for message in client.sent)
    assert client.sent[-1] == history[-2]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"content": b"{"}, None),
        ({"content": b"[]"}, None),
        ({"content": b'{"messages": []}'}, "messages"),
        ({"content": b'{"messages": [{"role": "robot"}]}'}, "messages.0.role"),
        ({"content": b'{"messages": ["hi"]}'}, "messages.0"),
        ({"content": b'{"model": 7, "messages": [{"role": "user", "content": "x"}]}'}, "model"),
        ({"content": b'{"messages": [{"role": "user", "content": NaN}]}'}, None),
        ({"content": b"[" * 5_000}, None),
    ],
)
def test_a_body_that_cannot_be_used_is_refused_with_the_place(client, upstream, fields, param):
    answer = client.post(**fields)
    assert 400 <= answer.status_code < 500
    error = answer.json()["error"]
    assert error["message"] and error["param"] == param
    assert not upstream.asked and not Session.objects.exists()


def test_a_body_over_the_limit_is_refused(client, settings, upstream):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2_000
    answer = client.post(user("x" * 3_000))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert not upstream.asked


def test_only_a_token_that_may_write_gets_an_answer(client, project, upstream):
    client.token = "nobody"
    refused = client.post(user("hello"))
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
    assert client.get("/v1/models").status_code == 401
    assert client.get("/v1/anything").status_code == 401
    client.token = issue_token(project, "reader").secret
    assert client.post(user("hello")).status_code == 403
    assert client.get("/v1/models").status_code == 200
    assert not upstream.asked and not Session.objects.exists()


def test_a_token_that_asks_too_often_is_told_when_to_come_back(client, settings):
    settings.API_REQUESTS_A_MINUTE = 1
    assert client.post(user("hello")).status_code == 200
    refused = client.post(user("hello"))
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert int(refused.headers["retry-after"]) > 0


def test_a_project_without_a_main_model_says_how_to_set_one(client, project):
    services.save_main_model(project.pk, {})
    answer = client.post(user("hello"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "main_model_missing")
    assert "`model:`" in answer.json()["error"]["message"]
    assert client.get("/v1/models").json() == {"object": "list", "data": []}
    services.save_main_model(project.pk, {"provider": "anthropic", "default": "claude"})
    assert client.post(user("hello")).json()["error"]["code"] == "main_model_not_compatible"
    assert not Session.objects.exists()


def test_the_models_are_the_projects_main_model(client):
    [model] = client.get("/v1/models").json()["data"]
    assert (model["id"], model["object"], model["context_window"]) == ("big", "model", 200_000)
    assert client.get("/v1/models/big").json() == model
    assert client.get("/v1/models/other").json()["error"]["code"] == "model_not_found"
    assert client.get("/v1/embeddings").json()["error"]["code"] == "unknown_url"
    assert client.get("/v1/chat/completions").status_code == 405


def test_a_request_without_a_model_asks_the_projects_own(client, upstream):
    client.post(content=json.dumps({"messages": [user("hello")]}))
    assert upstream.asked[0].body["model"] == "big"
    client.post(user("hello"), model="another")
    assert upstream.asked[1].body["model"] == "another"


def test_reasoning_is_sent_again_as_the_settings_say_also_when_the_client_lost_it(client, project, upstream):
    thought = completion("ok", reasoning_content="because")
    upstream.script = [thought]
    history = [user("hello"), {**assistant("ok"), "reasoning_content": "because"}, user("more")]
    client.post(history[0])
    client.post(*history)
    assert client.sent[1] == assistant("ok")
    services.save_policy(project.pk, {"compression": {"resend_reasoning": "all"}}, None)
    client.post(history[0], assistant("ok"), user("more"), assistant("ok"), user("and?"))
    assert [one.get("reasoning_content") for one in client.sent if one["role"] == "assistant"] == ["because"] * 2


def test_half_a_surrogate_and_a_nul_neither_break_the_request_nor_the_match(client):
    text = "odd \u0000 \ud800 text"
    first = client.post(user(text))
    second = client.post(user(text), assistant("ok"), user("more"))
    assert session_of(first) == session_of(second)
    assert first.status_code == second.status_code == 200
    assert client.post(user("hello"), model="odd \u0000 \ud800").status_code == 200


def test_an_imported_session_is_neither_continued_nor_rewound(client, project):
    imported = services.create_session(project)
    append_rows(imported.pk, [NewMessage(Message(Role.USER, "somebody's"))], COUNTER)
    Session.objects.filter(pk=imported.pk).update(source="claude-code")
    refused = client.post(user("hello"), session=imported.public_id)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "imported")
    assert live_texts(imported) == ["somebody's"]
    branch = services.branch_session(imported.pk, 1)
    assert client.post(user("somebody's"), user("more"), session=branch.public_id).status_code == 200


def test_chunks_that_hold_no_words_are_passed_on_too(client, upstream):
    items = (chunk({"role": "assistant"}), chunk({"content": "x"}), {"odd": 1}, chunk(reason="stop"), "[DONE]")
    upstream.script = [events(*items)]
    answer = client.post(user("hello"), stream=True)
    assert '{"odd": 1}' in answer.text and answer.text.rstrip().endswith("[DONE]")
