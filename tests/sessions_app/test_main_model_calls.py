"""Asking a project's main model in a session: the answer becomes a row, the call an entry, the turn ends."""

import pytest
from row_builder import COUNTER, assistant, user

from compaction.errors import InvalidPolicy
from compaction.messages import Message, Role
from compaction.talk import PieceKind
from sessions_app import services
from sessions_app.main_model.answering import answer_session
from sessions_app.main_model.connecting import is_reachable
from sessions_app.models import MessageRow, ModelCall, Turn
from sessions_app.services import NewMessage
from sessions_app.session_policy import window_of
from tests.compaction.loopback import completion, events, failure, serving

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback_is_allowed")]
USAGE = {
    "prompt_tokens": 30,
    "completion_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 20},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def chunk(delta, reason=None, **more):
    return {"model": "served", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more}


STREAM = (
    chunk({"reasoning_content": "hm", "role": "assistant"}),
    chunk({"content": "Hel"}),
    chunk({"content": "lo"}, "stop"),
    {"choices": [], "usage": USAGE},
    "[DONE]",
)


def use(project, server, **more):
    services.save_main_model(project.pk, {"default": "big", "base_url": server.url, **more})
    project.refresh_from_db()


def test_a_streamed_answer_is_stored_and_its_call_is_entered_with_everything_that_was_reported(project, rows):
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")), user("hello"))
    pieces = []
    with serving(events(*STREAM)) as server:
        use(project, server)
        done = answer_session(rows.session_id, on_piece=pieces.append)
        assert [message["role"] for message in server.asked[0].body["messages"]] == ["system", "user"]
    assert [piece.text for piece in pieces if piece.kind is PieceKind.TEXT] == ["Hel", "lo"]
    row = MessageRow.objects.get(pk=done.row_id)
    assert (row.content, row.reasoning, row.model, row.cache_read_tokens) == ("Hello", "hm", "served", 20)
    [entry] = ModelCall.objects.all()
    assert (entry.purpose, entry.endpoint, entry.error) == ("main", f"{server.url}/chat/completions", "")
    assert (entry.input_tokens, entry.output_tokens) == (30, 7)
    assert (entry.cached_tokens, entry.reasoning_tokens) == (20, 2)
    assert 0 <= entry.first_token_ms <= entry.duration_ms
    assert (entry.context_seq, entry.context_rows, entry.went_ahead, entry.repairs) == (2, 2, False, [])
    assert entry.context_tokens == rows.session.fixed_overhead_tokens + sum(one.tokens for one in rows.live()[:2])
    turn = Turn.objects.get()
    assert turn.is_finished and turn.reply_sent_at is not None


def test_a_failed_call_is_entered_and_leaves_rows_and_turn_as_they_were(project, rows):
    rows.append(user("hello"))
    with serving(failure(400, "no such model")) as server:
        use(project, server)
        done = answer_session(rows.session_id)
    assert (done.row_id, done.answer.status) == (None, 400)
    assert rows.texts() == ["hello"]
    [entry] = ModelCall.objects.all()
    assert (entry.error, entry.input_tokens, entry.context_rows) == ("http_400", None, 1)
    assert Turn.objects.get().reply_sent_at is None


def test_an_answer_that_breaks_off_is_kept_and_ends_its_turn_as_interrupted(project, rows):
    rows.append(user("hello"))
    with serving(events(*STREAM[:2])) as server:
        use(project, server)
        answer_session(rows.session_id, on_piece=lambda piece: None)
    assert rows.texts() == ["hello", "Hel"]
    assert Turn.objects.get().interrupted
    assert ModelCall.objects.get().error == "connection_lost"


def test_an_answer_that_calls_a_tool_leaves_the_turn_open(project, rows):
    rows.append(user("hello"))
    calls = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    with serving(completion(None, "tool_calls", tool_calls=calls)) as server:
        use(project, server)
        done = answer_session(rows.session_id)
    assert done.answer.message.tool_calls[0].name == "look"
    assert Turn.objects.get().reply_sent_at is None


@pytest.mark.parametrize(
    ("setting", "sent"), [("none", [None, None]), ("last_turn", [None, "second"]), ("all", ["first", "second"])]
)
def test_reasoning_is_sent_again_as_the_settings_say_and_counted_when_it_is(project, rows, setting, sent):
    def thought(text):
        return NewMessage(Message(Role.ASSISTANT, f"answer {text}", reasoning=text))

    rows.append(user("one"), thought("first"), user("two"), thought("second"))
    services.save_policy(project.pk, {"compression": {"resend_reasoning": setting}}, None)
    with serving(completion("ok")) as server:
        use(project, server)
        answer_session(rows.session_id)
        answers = [one for one in server.asked[0].body["messages"] if one["role"] == "assistant"]
    assert [one.get("reasoning_content") for one in answers] == sent
    counted = sum(COUNTER.count(text) for text in sent if text)
    assert ModelCall.objects.get().context_tokens == 100 + sum(one.tokens for one in rows.live()[:4]) + counted


def test_without_a_main_model_nobody_is_asked_and_the_setting_is_named(project, rows):
    rows.append(user("hello"))
    assert not is_reachable(project)
    with pytest.raises(InvalidPolicy, match="model.base_url"):
        answer_session(rows.session_id)
    assert not ModelCall.objects.exists()


def test_saving_a_main_model_sets_the_projects_model_window_and_thresholds(project, rows):
    block = {"default": "big", "context_length": 200_000, "max_tokens": 40_000, "api_key": "sk-secret"}
    reading = services.save_main_model(project.pk, block)
    project.refresh_from_db()
    assert (project.main_model, project.window_tokens) == ("big", 200_000)
    assert project.main_model_settings == {key: value for key, value in block.items() if key != "api_key"}
    assert [problem.key for problem in reading.problems] == ["model.api_key"]
    assert window_of(rows.session).input_tokens == 160_000
    assert rows.session.threshold_tokens == 120_000


def test_a_main_model_that_cannot_be_used_is_refused_and_nothing_is_saved(project):
    with pytest.raises(InvalidPolicy, match="model.provider"):
        services.save_main_model(project.pk, {"provider": "nobody-knows-it", "default": "m"})
    project.refresh_from_db()
    assert (project.main_model_settings, project.main_model) == ({}, None)


def test_a_finished_talk_goes_on_from_the_stored_answer(project, rows):
    rows.append(user("hello"), assistant("hi"), user("and now?"))
    with serving(completion("later")) as server:
        use(project, server)
        answer_session(rows.session_id)
    assert rows.texts() == ["hello", "hi", "and now?", "later"]
