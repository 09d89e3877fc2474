"""The extractive summarizer, and the parts it is made of (ENGINE 8.4, 8.6, 13)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.anchors import AnchorKind, attach_anchors, find_anchors, kept_and_lost
from compaction.extractive import NOTE, NOTE_ZH, ExtractiveSummarizer
from compaction.messages import Message, Role
from compaction.replies import Usable, judge_reply
from compaction.sections import STALE_MARK, Section, parse_sections, render_sections, split_off
from compaction.summarizer import Purpose, SummaryRequest
from compaction.tool_facts import tool_facts
from tests.compaction.transcripts import COUNTER, assistant, call, result, transcripts, user

EXCHANGE = (
    assistant(
        "I'll look at the failing test first.",
        call("1", "terminal", '{"command": "pytest -q tests/test_store.py"}'),
        call("2", "read_file", '{"path": "src/store.py"}'),
    ),
    result("1", '{"output": "FAILED tests/test_store.py::test_undo - KeyError\\n1 failed, 4 passed", "exit_code": 1}'),
    result("2", "def undo(self): ..."),
    assistant("", call("3", "edit_file", '{"path": "src/store.py", "old": "a", "new": "b"}')),
    result("3", "ok"),
    assistant(
        "Fixed `undo()` in src/store.py. We keep the archive table because rows are never rewritten. Feel free to ask!"
    ),
)


def ask(messages=EXCHANGE, earlier="", purpose=Purpose.ABSORB, budget=800):
    request = SummaryRequest(purpose, "", "question", earlier, tuple(messages), budget, 5_000)
    return ExtractiveSummarizer(COUNTER).ask(request).text


def test_facts_of_an_exchange_land_in_their_sections():
    sections = parse_sections(ask())
    assert "We keep the archive table because rows are never rewritten." in sections.of(Section.DECISIONS)
    assert "Fixed `undo()` in src/store.py." in sections.of(Section.COMPLETED)
    assert any("pytest -q tests/test_store.py" in entry and "exit 1" in entry for entry in sections.of(Section.ERRORS))
    assert "changed `edit_file src/store.py`" in sections.of(Section.FILES) or "changed `src/store.py`" in sections.of(
        Section.FILES
    )


def test_it_says_how_it_was_made_and_leaves_courtesies_out():
    text = ask()
    assert NOTE in text
    assert "Feel free" not in text


def test_what_a_user_forbade_is_kept_word_for_word():
    text = ask([user("Please refactor it. Do not touch the migrations!"), *EXCHANGE], purpose=Purpose.BATCH)
    assert '"Do not touch the migrations!"' in parse_sections(text).of(Section.CONSTRAINTS)


def test_chinese_input_gives_chinese_prose_under_the_same_headings():
    text = ask([assistant("已修复存储模块的撤销功能。我们决定保留归档表,因为行不会被改写。")])
    assert NOTE_ZH in text
    assert "## Key Decisions" in text
    assert "我们决定保留归档表" in text


def test_actions_go_on_being_numbered():
    earlier = "## Completed Actions\n1. one\n2. two"
    assert "3. Fixed `undo()` in src/store.py." in ask(earlier=earlier)


def test_when_nothing_is_worth_quoting_the_last_words_are():
    assert "Have a great day!" in ask([assistant("Have a great day!")])
    assert "1 rows without text; called look" in ask([assistant("", call("1", "look", "{}"))])


def test_the_same_input_gives_the_same_summary():
    assert ask() == ask()


def test_many_passes_never_exceed_the_budget():
    text = ""
    for n in range(40):
        told = assistant(f"Decided to use plan {n} because module_{n}.py needs it. Fixed src/part_{n}/file_{n}.py.")
        text = ask([*EXCHANGE, told], earlier=text, budget=500)
        assert COUNTER.count(text) <= 500
    assert "plan 39" in text


def test_a_defrag_shrinks_to_its_budget():
    long = render_sections({Section.DECISIONS: [f"decision number {n} about module_{n}.py" for n in range(100)]})
    assert COUNTER.count(ask((), earlier=long, purpose=Purpose.DEFRAG, budget=400)) <= 400


@given(transcripts(), st.integers(150, 600))
def test_whatever_the_transcript_the_answer_is_usable_and_within_budget(rows, budget):
    messages = tuple(row.message for row in rows)
    request = SummaryRequest(Purpose.BATCH, "", "question", "", messages, budget, 5_000)
    reply = ExtractiveSummarizer(COUNTER).ask(request)
    assert COUNTER.count(reply.text) <= budget
    assert isinstance(judge_reply(reply, request), Usable)


def test_sections_are_parsed_and_rendered_without_loss():
    entries = {Section.CONSTRAINTS: ["no new tests"], Section.COMPLETED: ["one", "two"]}
    parsed = parse_sections(render_sections(entries))
    assert parsed.of(Section.CONSTRAINTS) == ("no new tests",)
    assert parsed.of(Section.COMPLETED) == ("one", "two")
    assert parsed.missing == ()


def test_stale_sections_say_so():
    text = render_sections({})
    assert f"## Historical Pending User Asks {STALE_MARK}" in text
    assert f"## Historical Remaining Work {STALE_MARK}" in text


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("Active Task", Section.TASK),
        ("Constraints & Preferences", Section.CONSTRAINTS),
        ("Relevant Files", Section.FILES),
        ("Next Steps", Section.REMAINING),
        ("Open questions", Section.ASKS),
        ("Something Else", Section.DECISIONS),
    ],
)
def test_foreign_headings_are_folded_in_and_reported(heading, section):
    parsed = parse_sections(f"## {heading}\n- entry")
    assert parsed.of(section) == ("entry",)
    assert parsed.folded == (heading,)


def test_a_section_can_be_split_off():
    text = "## Key Decisions\n- a\n\n## Exact Anchors\n- `x/y.py`"
    assert split_off(text, Section.ANCHORS) == ("## Key Decisions\n- a", ("`x/y.py`",))


def test_anchors_are_exact_strings_of_every_kind():
    messages = [
        Message(Role.TOOL, "see https://example.org/a?b=1 and src/app/main.py:42, commit 3f2a9bc1d0e, took 412 ms"),
        Message(Role.TOOL, "ValueError: no such row\nticket HS-12 and 123e4567-e89b-12d3-a456-426614174000"),
        assistant("", call("1", "terminal", '{"command": "git rebase main"}')),
    ]
    found = {(anchor.kind, anchor.text) for anchor in find_anchors(messages)}
    assert found >= {
        (AnchorKind.URL, "https://example.org/a?b=1"),
        (AnchorKind.PATH, "src/app/main.py:42"),
        (AnchorKind.HASH, "3f2a9bc1d0e"),
        (AnchorKind.FIGURE, "412 ms"),
        (AnchorKind.ERROR, "ValueError: no such row"),
        (AnchorKind.IDENTIFIER, "HS-12"),
        (AnchorKind.IDENTIFIER, "123e4567-e89b-12d3-a456-426614174000"),
        (AnchorKind.COMMAND, "git rebase main"),
    }


def test_attached_anchors_stay_within_their_budget_and_repeat_nothing():
    messages = [Message(Role.TOOL, " ".join(f"src/part_{n}/file_{n}.py" for n in range(200)))]
    text = attach_anchors("the body names src/part_7/file_7.py", "", messages, 100, COUNTER)
    body, anchors = split_off(text, Section.ANCHORS)
    assert body == "the body names src/part_7/file_7.py"
    assert COUNTER.count(text) - COUNTER.count(body) <= 101
    assert anchors
    assert "`src/part_7/file_7.py`" not in anchors


def test_anchors_of_the_earlier_summary_are_carried_on():
    earlier = "## Exact Anchors\n- `old/path.py`"
    assert "old/path.py" in attach_anchors("body", earlier, [], 100, COUNTER)


def test_kept_and_lost_anchors_are_told_apart():
    anchors = find_anchors([Message(Role.TOOL, "src/kept.py src/lost.py")])
    kept, lost = kept_and_lost(anchors, "still mentions src/kept.py")
    assert ([anchor.text for anchor in kept], [anchor.text for anchor in lost]) == (["src/kept.py"], ["src/lost.py"])


def test_tool_facts_quote_the_verdict_of_a_command():
    facts = list(tool_facts(EXCHANGE))
    assert [fact.subject for fact in facts][0] == "pytest -q tests/test_store.py"
    assert facts[0].outcome == "exit 1, 1 failed, 4 passed"
    assert facts[0].is_error
