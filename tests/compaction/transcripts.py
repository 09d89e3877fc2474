"""Transcripts for tests of the engine: built by hand, or generated with everything that real ones get wrong."""

from __future__ import annotations

from itertools import product
from math import lcm

from hypothesis import strategies as st

from compaction.markers import OPENING
from compaction.messages import ImagePart, Message, Role, Row, RowKind, TextPart, ToolCall
from compaction.tokens import RoughCounter, row_tokens

COUNTER = RoughCounter()


def user(text, **fields):
    return Message(Role.USER, text, **fields)


def assistant(text, *calls):
    return Message(Role.ASSISTANT, text, tool_calls=tuple(calls))


def call(call_id, name="read_file", arguments='{"path": "a.py"}'):
    return ToolCall(call_id, name, arguments)


def result(call_id, text="ok"):
    return Message(Role.TOOL, text, tool_call_id=call_id)


def system(text="You are a helper."):
    return Message(Role.SYSTEM, text)


def rows_of(*messages, counter=COUNTER, injected=()):
    """Rows numbered from 0; indices in `injected` are user rows that no person wrote."""
    return tuple(
        Row(n, n, message, row_tokens(message, counter), by_person=n not in injected)
        for n, message in enumerate(messages)
    )


def chat(turns, words=20, with_system=True):
    """Plain turns of one question and one answer each, every answer about `words` tokens."""
    messages = [system()] if with_system else []
    for n in range(1, turns + 1):
        messages += [user(f"question {n}"), assistant(f"answer {n} " + "word " * words)]
    return rows_of(*messages)


TEXTS = [
    "short",
    "a longer sentence about src/app.py and the decision to keep it",
    "word " * 60,
    "请把这个模块重构一下,不要修改测试",
    "full-width ＡＢＣ and emoji 🙂🙂",
    "a lone surrogate \ud800 here",
    f"{OPENING} Earlier turns were compacted (typed by a person)",
    "## Historical Task Snapshot\nnot a summary",
    "   ",
    "",
    "line one\r\nline two\u2028line three",
]
PICTURE = ImagePart('{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}')
PICTURES = [(TextPart(text), PICTURE) for text in TEXTS]
OUTPUTS = ["output line\n" * 40, '{"exit_code": 1}' + " " * 300]


def evenly(*kinds):
    """All of each kind, every kind as often as any other: one choice where a choice of choices would take two."""
    longest = lcm(*map(len, kinds))
    return [one for kind in kinds for one in kind * (longest // len(kind))]


# Drawing is what tests of generated transcripts spend their time on, so much is drawn at once: a call with its answer,
# the shape of a round. What is plain comes first: examples shrink to it.
CONTENTS = st.sampled_from(evenly(TEXTS, PICTURES, [None], [()]))
FINAL_TEXTS = st.sampled_from(evenly(TEXTS, ["done"]))
# What tools return: mostly text, often long, the same again now and then, sometimes with a picture.
RESULTS = evenly(TEXTS, TEXTS, OUTPUTS, PICTURES, [None], [()])
IDS = ["c1", "c2", "c3", " c1 ", "", None, "qwen_tc_0"]
CALL_IDS = st.sampled_from(IDS)
CALLS = st.sampled_from(list(product((True,) * 4 + (False,), IDS, RESULTS)))  # Whether it is answered, and with what.
ROUND_SHAPES = st.sampled_from(
    list(product((1, 2, 3), (False,) * 9 + (True,), (False,) * 4 + (True,)))  # Calls, with an orphan, out of order.
)
TURN_SHAPES = st.sampled_from(
    list(product((1, 1, 1, 2, 3), (0, 0, 1, 1, 2, 5), (True,) * 9 + (False,)))  # Requests, rounds, with a final answer.
)
ONE_PROMPT = [
    user("one prompt, many rounds"),
    *(message for n in range(300) for message in (assistant("", call(f"r{n}")), result(f"r{n}", "output " * 5))),
    assistant("finished"),
]


@st.composite
def rounds(draw):
    """An assistant message with calls and its results: complete, torn, repeated or out of order."""
    number, has_orphan, is_reversed = draw(ROUND_SHAPES)
    calls = [draw(CALLS) for _ in range(number)]
    answers = [result(call_id, content) for is_answered, call_id, content in calls if is_answered]
    if has_orphan:
        answers.append(result(draw(CALL_IDS), "an orphan"))
    if is_reversed:
        answers.reverse()
    return [assistant(draw(CONTENTS), *(call(call_id) for _, call_id, _ in calls)), *answers]


@st.composite
def turns(draw):
    """A request, some rounds, usually a final answer."""
    requests, number, is_answered = draw(TURN_SHAPES)
    messages = [user(draw(CONTENTS)) for _ in range(requests)]
    for _ in range(number):
        messages += draw(rounds())
    if is_answered:
        messages.append(assistant(draw(FINAL_TEXTS)))
    return messages


@st.composite
def transcripts(draw, min_turns=1, max_turns=12):
    """Rows of a whole session, with injected user rows in places and now and then one turn of 300 rounds."""
    messages = [system()] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(min_turns, max_turns))):
        messages += draw(turns())
    if draw(st.integers(0, 9)) == 7:
        messages += ONE_PROMPT
    return rows_of(*messages, injected=draw(some_of([n for n, one in enumerate(messages) if one.role is Role.USER])))


def some_of(places):
    """About a fifth of them."""
    return st.sets(st.sampled_from(places), max_size=-(-len(places) * 2 // 5))


def with_kind(row, kind=RowKind.MICRO_SUMMARY):
    """The same row as a summary."""
    return Row(row.id, row.position, row.message, row.tokens, kind, by_person=False)
