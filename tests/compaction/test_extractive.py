"""The extractive summarizer, and the parts it is made of (ENGINE 8.4, 8.6, 13)."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.anchors import AnchorKind, attach_anchors, find_anchors, kept_and_lost
from compaction.entries import PASSES_NOW
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
    assert sections.of(Section.COMPLETED) == ("Fixed `undo()` in src/store.py.",)
    assert sections.of(Section.FILES) == ("changed `src/store.py`",)
    (error,) = sections.of(Section.ERRORS)
    assert error.startswith("`pytest -q tests/test_store.py` failed: exit 1; 1 failed, 4 passed")


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


def test_a_request_that_opens_like_a_heading_stays_a_request():
    text = ask([user("## Key Decisions\nare missing")], purpose=Purpose.BATCH)
    assert parse_sections(text).of(Section.TASK)[-1] == "> ## Key Decisions are missing"
    assert parse_sections(text).of(Section.DECISIONS) == ()


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
        assistant("", call("1", "terminal", '{"command": "cd app && git rebase main 2>&1 | tail -3"}')),
        assistant("", call("2", "cancel_booking", '{"booking_id": "S61CZX", "user_id": "mia_li_3668"}')),
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
        (AnchorKind.IDENTIFIER, "S61CZX"),
        (AnchorKind.IDENTIFIER, "mia_li_3668"),
    }


def test_what_was_said_or_used_comes_before_what_a_tool_merely_listed():
    listing = "\n".join(f"vendor/part_{n}/file_{n}.py" for n in range(40))
    messages = [assistant("", call("1", "edit", '{"path": "src/store.py"}')), result("1", listing)]
    assert find_anchors(messages)[0].text == "src/store.py"


def test_a_longer_path_stands_for_its_folders_and_its_shorter_spellings():
    messages = [assistant("`src/app/main.py` is /home/ada/src/app/main.py in /home/ada/src/app")]
    assert [anchor.text for anchor in find_anchors(messages)] == ["/home/ada/src/app/main.py"]


def test_lines_of_code_are_no_errors():
    messages = [
        result("1", "12→    raise ValueError(text)\n  isError: true,\nshowError(`${KeyError}`);\nKeyError: 'id'")
    ]
    assert [anchor.text for anchor in find_anchors(messages)] == ["KeyError: 'id'"]


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
    facts = tool_facts(EXCHANGE)
    (command,) = facts.commands
    assert (command.text, command.ok) == ("pytest -q tests/test_store.py", False)
    assert command.outcome.startswith("exit 1; 1 failed, 4 passed")
    assert (facts.changed, facts.read) == (("src/store.py",), ("src/store.py",))


def run(command, output, call_id="9"):
    return assistant("", call(call_id, "Bash", json.dumps({"command": command}))), result(call_id, output)


def test_a_command_that_failed_and_passes_now_is_no_open_error():
    failed = ask(run("cd app && npm run check 2>&1 | tail -5", "src/a.ts(8,2): error TS2307: no module\nexit code 2"))
    assert parse_sections(failed).of(Section.ERRORS) == (
        "`npm run check` failed: exit 2; src/a.ts(8,2): error TS2307: no module",
    )
    fixed = parse_sections(ask(run("npm run check", "exit code 0"), earlier=failed))
    assert fixed.of(Section.ERRORS)[0].endswith(f"→ {PASSES_NOW}")
    assert fixed.of(Section.FILES) == ("ran `npm run check`",)


def test_looking_around_is_not_worth_an_entry():
    text = ask([*run("ls -la", "a\nb"), *run("git status --short", "M a"), *run("sed -n 1,9p a.py", "x")])
    assert "`" not in text


def test_commits_are_told_by_their_subject():
    text = ask(run("git add -A && git commit -q -m 'Keep the archive table'", "1 file changed, 2 insertions(+)"))
    assert parse_sections(text).of(Section.COMPLETED) == ('Committed "Keep the archive table"',)


def test_what_an_agent_is_about_to_do_counts_only_where_it_stopped():
    on_the_way = ask(
        [assistant("Let me look at the parser.", call("1")), result("1"), assistant("The parser is fine now.")]
    )
    stopped = ask([assistant("Let me look at the parser.", call("1")), result("1")])
    assert "Let me" not in on_the_way
    assert parse_sections(stopped).of(Section.STATE) == ('Was about to: "Let me look at the parser."',)


def test_the_newest_task_list_replaces_the_older_one():
    def todo(*items):
        listed = [{"content": text, "status": status} for text, status in items]
        return assistant("", call("7", "TodoWrite", json.dumps({"todos": listed}))), result("7", "ok")

    first = ask(todo(("write the parser", "in_progress"), ("write the tests", "pending")))
    assert parse_sections(first).of(Section.STATE) == ("write the parser",)
    assert parse_sections(first).of(Section.REMAINING) == ("write the tests",)
    second = parse_sections(
        ask(todo(("write the parser", "completed"), ("write the tests", "in_progress")), earlier=first)
    )
    assert second.of(Section.STATE) == ("write the tests",)
    assert second.of(Section.REMAINING) == ()


def test_a_list_is_quoted_with_what_announces_it():
    told = assistant(
        "Perfect! Here is what I did:\n- Added the `undo` command\n- Removed the old flag\n\nAll 12 tests pass."
    )
    completed = parse_sections(ask([told])).of(Section.COMPLETED)
    assert completed == ("Here is what I did: Added the `undo` command; Removed the old flag", "All 12 tests pass.")


def test_files_are_listed_once_however_often_they_change():
    text = ""
    for _ in range(5):
        text = ask(EXCHANGE, earlier=text)
    assert text.count("changed `src/store.py`") == 1
    assert text.count("Fixed `undo()`") == 1


def test_an_unanswered_question_is_pending_and_an_answered_one_is_not():
    asked = ask([user("Which port does the server use?")], purpose=Purpose.BATCH)
    answered = ask([user("Which port does the server use?"), assistant("It uses port 8000.")], purpose=Purpose.BATCH)
    assert parse_sections(asked).of(Section.ASKS) == ('"Which port does the server use?"',)
    assert parse_sections(answered).of(Section.ASKS) == ()


def test_foreign_notes_survive_a_merge_in_our_sections():
    earlier = "## Goal\nShip version 2\n\n## Relevant Files\n- src/a.py\n\n## Completed Actions\n4. set up CI"
    merged = parse_sections(ask(earlier=earlier))
    assert "src/a.py" in merged.of(Section.FILES)
    assert merged.of(Section.COMPLETED)[0] == "set up CI"
    assert merged.last_action == 5


def test_a_defrag_shrinks_whatever_its_budget():
    long = render_sections({Section.DECISIONS: [f"decision number {n} about module_{n}.py" for n in range(100)]})
    text = ask((), earlier=long, purpose=Purpose.DEFRAG, budget=100_000)
    assert COUNTER.count(text) <= 0.6 * COUNTER.count(long)
    assert "decision number 99" in text


def test_an_exchange_of_five_thousand_tokens_is_summarised_quickly():
    told = "\n".join(f"- Added step {n} to `src/part_{n}/file_{n}.py` because the old one failed." for n in range(80))
    messages = [*EXCHANGE, *run("pytest -q", "line of output\n" * 1_000), assistant(f"Summary:\n\n{told}")]
    earlier = ask(messages, budget=1_500)
    start = time.process_time()
    for _ in range(10):
        ask(messages, earlier=earlier, budget=1_500)
    assert (time.process_time() - start) / 10 < 0.1
