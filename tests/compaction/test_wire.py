"""Provider messages read into values and written back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.formats.events import Problem, ProblemKind
from compaction.messages import ImagePart, OtherPart, Role, TextPart
from compaction.wire import message_from_openai, message_to_openai


def read(mapping):
    problems: list[Problem] = []
    return message_from_openai(mapping, problems.append), [problem.kind for problem in problems]


CALL = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}
VALID = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": "Be brief.", "name": "team"},
    {"role": "user", "content": ""},
    {
        "role": "user",
        "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:,"}}],
    },
    {"role": "user", "content": [{"type": "text", "text": "long", "cache_control": {"type": "ephemeral"}}]},
    {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "assistant", "tool_calls": [CALL]},
    {"role": "assistant", "content": "done", "tool_calls": None, "function_call": None, "refusal": None},
    {"role": "assistant", "content": "done", "tool_calls": []},
    {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}, "tool_calls": None},
    {"role": "assistant", "content": None, "refusal": "I can't help with that."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{**CALL, "index": 0, "function": {**CALL["function"], "x": 1}}],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c2", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}],
    },
    {"role": "assistant", "content": "x", "reasoning_content": "because"},
    {"role": "assistant", "content": "x", "reasoning": "because", "reasoning_details": [{"type": "summary"}]},
    {"role": "assistant", "content": "x", "reasoning": "because", "reasoning_content": "because"},
    {"role": "assistant", "content": "x", "reasoning": "short", "reasoning_content": "long"},
    {"role": "assistant", "content": "x", "reasoning_content": ""},
    {"role": "assistant", "content": "x", "reasoning_content": None},
    {"role": "tool", "tool_call_id": "c1", "content": "ok", "name": "read_file"},
    {"role": "tool", "tool_call_id": "c1", "content": ""},
    {"role": "function", "name": "f", "content": "ok"},
]


@pytest.mark.parametrize("mapping", VALID, ids=lambda mapping: json.dumps(mapping)[:60])
def test_a_valid_message_comes_back_unchanged_and_without_a_problem(mapping):
    message, problems = read(mapping)
    assert message_to_openai(message) == mapping
    assert problems == []


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
scalars = st.none() | st.booleans() | st.integers() | texts
calls = st.builds(
    lambda call_id, name, arguments: {
        "id": "c" + call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    },
    texts,
    texts,
    texts,
)
extra_keys = st.dictionaries(st.sampled_from(["refusal", "audio", "annotations", "x"]), scalars, max_size=2)
assistants = st.builds(
    lambda content, calls, extras: {"role": "assistant", **content, "tool_calls": calls, **extras},
    st.sampled_from([{}, {"content": None}, {"content": ""}]) | texts.map(lambda text: {"content": text}),
    st.lists(calls, min_size=1, max_size=3),
    extra_keys,
)
parts = st.builds(lambda text, extras: {"type": "text", "text": text, **extras}, texts, extra_keys)
users = st.builds(
    lambda content, extras: {"role": "user", "content": content, **extras},
    texts | st.lists(parts, min_size=1, max_size=3),
    extra_keys,
)
results = st.builds(
    lambda call_id, content: {"role": "tool", "tool_call_id": "c" + call_id, "content": content}, texts, texts
)


@given(assistants | users | results)
def test_any_valid_message_comes_back_unchanged(mapping):
    message, _ = read(mapping)
    assert message_to_openai(message) == mapping


json_values = st.recursive(
    scalars | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
odd_messages = st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "name", "function_call", "reasoning", "x"]),
    json_values | st.just([{"id": 3, "function": {"name": None, "arguments": {"a": 1}}}]) | st.text(),
)


@given(odd_messages)
def test_no_shape_is_fatal_and_the_result_can_be_stored_and_written(mapping):
    message, _ = read(mapping)
    written = json.dumps(message_to_openai(message))
    written.encode()
    for text in [message.extras, message.name or "", message.reasoning or "", message.text]:
        assert "\x00" not in text
        text.encode()


@pytest.mark.parametrize(
    ("mapping", "kind"),
    [
        ({"role": "user", "content": None}, ProblemKind.ODD_SHAPE),
        ({"role": "user"}, ProblemKind.MISSING_KEY),
        ({"role": "user", "content": []}, ProblemKind.ODD_SHAPE),
        ({"role": "assistant", "content": 7}, ProblemKind.ODD_SHAPE),
        ({"role": "assistant", "content": [["nested"]]}, ProblemKind.ODD_SHAPE),
        ({"role": "assistant", "content": {"type": "text", "text": "x"}}, ProblemKind.ODD_SHAPE),
        ({"role": "FUNCTION", "content": "x"}, ProblemKind.ODD_SHAPE),
        ({"content": "x"}, ProblemKind.MISSING_KEY),
        ({"role": "tool", "content": "x"}, ProblemKind.MISSING_CALL_ID),
        ({"role": "tool", "content": "x", "tool_call_id": " "}, ProblemKind.MISSING_CALL_ID),
        (
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": ""}}]},
            ProblemKind.MISSING_CALL_ID,
        ),
        ({"role": "assistant", "content": "", "tool_calls": [{"id": "y"}]}, ProblemKind.ODD_SHAPE),
        ({"role": "assistant", "content": "", "tool_calls": "none"}, ProblemKind.ODD_SHAPE),
        ({"role": "user", "content": "half \ud835 pair"}, ProblemKind.REPLACED_CHARACTER),
    ],
)
def test_an_odd_shape_becomes_a_message_with_a_problem(mapping, kind):
    message, problems = read(mapping)
    assert kind in problems
    assert isinstance(message.role, Role)


def test_null_and_empty_and_list_content_stay_apart():
    contents = [read({"role": "user", "content": value})[0].content for value in (None, "", [], ["a"])]
    assert contents == [None, "", (), (TextPart("a"),)]


def test_parts_are_told_apart_by_their_type():
    content = [{"type": "text", "text": "t"}, {"type": "input_image", "image_url": "u"}, {"type": "file", "file": {}}]
    message, _ = read({"role": "user", "content": content})
    kinds = [type(part) for part in message.content]
    assert kinds == [TextPart, ImagePart, OtherPart]
    assert message.text == "t"


def test_s07_lone_surrogates_and_nuls_are_replaced_and_pairs_are_kept():
    message, _ = read({"role": "user", "content": "bad \ud835 half, nul \x00, pair \ud83d\ude00"})
    assert message.content == "bad \ufffd half, nul \ufffd, pair \U0001f600"


def test_a_rewritten_content_is_written_without_the_old_parts_keys():
    message, _ = read({"role": "user", "content": [{"type": "text", "text": "long", "cache_control": {}}]})
    assert message_to_openai(replace(message, content="short")) == {"role": "user", "content": "short"}


def test_taking_out_the_reasoning_takes_out_the_provider_s_record_of_it():
    message, _ = read({"role": "assistant", "content": "x", "reasoning_content": "r", "reasoning_details": [{"t": 1}]})
    assert message_to_openai(replace(message, reasoning=None)) == {"role": "assistant", "content": "x"}


def test_a_call_answers_to_its_other_ids():
    call = {**CALL, "id": "c1|fc_2", "call_id": "c1", "response_item_id": "item"}
    message, _ = read({"role": "assistant", "content": None, "tool_calls": [call]})
    assert message.tool_calls[0].aliases == ("c1", "item", "fc_2")
    assert message_to_openai(message)["tool_calls"] == [call]


def test_a_message_nested_three_thousand_deep_does_not_crash():
    value: object = "x"
    for _ in range(3000):
        value = [value]
    message, problems = read({"role": "assistant", "content": value})
    assert (message.role, message.content) == (Role.ASSISTANT, "")
    assert problems == [ProblemKind.ODD_SHAPE]
