"""Transcripts for tests of the engine: built by hand, or generated with everything that real ones get wrong."""

from __future__ import annotations

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


TEXTS = st.sampled_from(
    [
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
)
PICTURE = ImagePart('{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}')
CONTENTS = st.one_of(TEXTS, st.none(), st.builds(lambda text: (TextPart(text), PICTURE), TEXTS), st.just(()))
# What tools return: mostly text, often long, the same again now and then, sometimes with a picture.
RESULTS = st.one_of(TEXTS, st.sampled_from(["output line\n" * 40, '{"exit_code": 1}' + " " * 300]), CONTENTS)
CALL_IDS = st.sampled_from(["c1", "c2", "c3", " c1 ", "", None, "qwen_tc_0"])


@st.composite
def rounds(draw):
    """An assistant message with calls and its results: complete, torn, repeated or out of order."""
    calls = draw(st.lists(st.builds(call, CALL_IDS), min_size=1, max_size=3))
    answers = [result(c.id, draw(RESULTS)) for c in calls if draw(st.integers(0, 9)) > 1]
    if draw(st.integers(0, 9)) == 0:
        answers.append(result(draw(CALL_IDS), "an orphan"))
    if draw(st.integers(0, 4)) == 0:
        answers.reverse()
    return [assistant(draw(CONTENTS), *calls), *answers]


@st.composite
def turns(draw):
    """A request, some rounds, usually a final answer."""
    messages = [user(draw(CONTENTS)) for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3])))]
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2, 5]))):
        messages += draw(rounds())
    if draw(st.integers(0, 9)) > 0:
        messages.append(assistant(draw(st.one_of(TEXTS, st.just("done")))))
    return messages


@st.composite
def transcripts(draw, min_turns=1, max_turns=12):
    """Rows of a whole session, with injected user rows in places and now and then one turn of 300 rounds."""
    messages = [system()] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(min_turns, max_turns))):
        messages += draw(turns())
    if draw(st.integers(0, 40)) == 0:
        messages.append(user("one prompt, many rounds"))
        for n in range(300):
            messages += [assistant("", call(f"r{n}")), result(f"r{n}", "output " * 5)]
        messages.append(assistant("finished"))
    injected = {n for n, message in enumerate(messages) if message.role is Role.USER and draw(st.integers(0, 9)) == 0}
    return rows_of(*messages, injected=injected)


def with_kind(row, kind=RowKind.MICRO_SUMMARY):
    """The same row as a summary."""
    return Row(row.id, row.position, row.message, row.tokens, kind, by_person=False)
