"""Transcripts of one message per line, and what lines may hold."""

from __future__ import annotations

import pytest
from source_reading import BUGS, problem_kinds, read, read_one, texts, write_lines

from compaction.errors import InvalidSource
from compaction.formats.events import ProblemKind
from compaction.messages import Role


def test_i01_lines_end_at_the_line_feed_only_and_other_separators_are_text():
    found, report = read_one(BUGS / "I01_unicode_separators.jsonl")
    assert len(found.rows) == 4
    assert texts(found.rows)[0] == "one\u2028two\u2029three"
    assert texts(found.rows)[1] == "nel\x85here vt\x0b ff\x0c"
    assert texts(found.rows)[3] == "crlf line, no final newline"
    assert report.counts == {}


def test_i02_a_leading_byte_order_mark_is_no_data_and_one_in_a_text_is():
    found, report = read_one(BUGS / "I02_bom.jsonl")
    assert texts(found.rows) == ["first", "bom inside \ufeff text", "third"]
    assert report.counts == {}


def test_i02_utf_16_is_refused_in_plain_words():
    with pytest.raises(InvalidSource, match="UTF-16 text; save it as UTF-8"):
        read(BUGS / "I02_utf16le.jsonl")


def test_i05_odd_shapes_become_rows_with_warnings():
    found, report = read_one(BUGS / "I05_odd_shapes.jsonl")
    assert len(found.rows) == 10
    assert problem_kinds(report) == {ProblemKind.ODD_SHAPE, ProblemKind.MISSING_KEY, ProblemKind.MISSING_CALL_ID}
    assert report.skipped_lines == 0
    assert {problem.line for problem in report.problems} == {2, 3, 4, 5, 6, 8, 9, 10}
    assert [row.message.role for row in found.rows[5:7]] == [Role.TOOL, Role.TOOL]
    assert found.rows[6].message.text == "boom"


def test_i08_a_corrupt_line_in_the_middle_costs_only_itself_and_marks_the_session():
    found, report = read_one(BUGS / "I08_corrupt_middle_line.jsonl")
    assert found.session.is_damaged
    (problem,) = report.problems
    assert (problem.kind, problem.line, problem.skipped) == (ProblemKind.UNPARSABLE_LINE, 7, True)
    assert "it is no JSON" in problem.detail
    assert len(found.rows) == report.lines - 1 == 18


def test_i08_a_cut_last_line_is_told_and_does_not_mark_the_session():
    found, report = read_one(BUGS / "I08_truncated_last_line.jsonl")
    assert not found.session.is_damaged
    assert report.counts == {ProblemKind.TRUNCATED_LAST_LINE: 1}
    assert len(found.rows) == 11


def test_s07_lone_surrogates_and_nuls_are_replaced_and_later_rows_are_read():
    found, report = read_one(BUGS / "S07_lone_surrogate.jsonl")
    assert texts(found.rows) == [
        "before",
        "bad \ufffd half and \ufffd other",
        "title \ufffd nul",
        "after one",
        "after two",
    ]
    assert [(problem.kind, problem.line) for problem in report.problems] == [
        (ProblemKind.REPLACED_CHARACTER, 2),
        (ProblemKind.REPLACED_CHARACTER, 3),
    ]
    for row in found.rows:
        assert "\x00" not in row.raw and "\\u0000" not in row.raw
        row.raw.encode()


def test_s11_rows_replayed_by_a_loader_are_there_once():
    found, report = read_one(BUGS / "S11_replayed_rows.jsonl")
    assert texts(found.rows) == [f"row {number}" for number in range(10)]
    assert report.counts == {ProblemKind.REPEATED_RECORD: 10}


def test_the_first_line_may_name_the_session_and_calls_without_ids_are_paired_by_order(tmp_path):
    def call(name):
        return [{"function": {"name": name, "arguments": "{}"}}]

    path = write_lines(
        tmp_path / "x.jsonl",
        {"type": "session_meta", "session_id": "sess-1", "timestamp": "2026-04-03T23:59:58Z"},
        {"role": "user", "content": "go", "timestamp": "2026-04-04T00:00:00Z"},
        {"role": "assistant", "content": "", "tool_calls": [*call("ls"), *call("cat")]},
        {"role": "tool", "content": "of cat", "name": "cat"},
        {"role": "tool", "content": "of ls"},
        {"role": "assistant", "content": "", "tool_calls": call("rm")},
        {"role": "user", "content": "stop"},
        {"role": "tool", "content": "of nobody"},
    )
    found, report = read_one(path)
    ls, cat = (call.id for call in found.rows[1].message.tool_calls)
    results = [row.message.tool_call_id for row in found.rows if row.message.role is Role.TOOL]
    assert results == [cat, ls, None]
    assert (found.session.foreign_id, found.session.started_at) == ("sess-1", 1775260798)
    assert report.counts == {ProblemKind.NOT_MODEL_BOUND: 1, ProblemKind.MISSING_CALL_ID: 6}


def test_a_file_named_by_a_session_is_that_session_and_any_other_goes_by_its_opening(tmp_path):
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    named, _ = read_one(write_lines(tmp_path / "20260726_130000_abc123.jsonl", *talk))
    other, _ = read_one(write_lines(tmp_path / "chat.jsonl", *talk))
    grown, _ = read_one(write_lines(tmp_path / "chat.jsonl", *talk, {"role": "user", "content": "bye"}))
    assert named.session.foreign_id == "20260726_130000_abc123"
    assert other.session.foreign_id == grown.session.foreign_id


def test_comments_blank_lines_and_values_that_are_no_objects_are_counted_or_passed(tmp_path):
    path = tmp_path / "x.jsonl"
    lines = ["// a comment", "", '{"role": "user", "content": "hi"}', "[1, 2]", "# another", '{"x": 1}', "7", ""]
    path.write_text("\r\n".join(lines), encoding="utf-8")
    found, report = read_one(path)
    assert texts(found.rows) == ["hi"]
    assert [(problem.kind, problem.line) for problem in report.problems] == [
        (ProblemKind.COMMENT_LINE, 1),
        (ProblemKind.NOT_AN_OBJECT, 4),
        (ProblemKind.COMMENT_LINE, 5),
        (ProblemKind.UNKNOWN_TYPE, 6),
        (ProblemKind.NOT_AN_OBJECT, 7),
    ]


def test_json_nested_three_thousand_deep_is_a_problem_and_no_crash(tmp_path):
    path = write_lines(tmp_path / "x.jsonl", {"role": "user", "content": "hi"}, {"role": "user", "content": "bye"})
    deep = '{"role": "user", "content": ' + "[" * 3000 + "]" * 3000 + "}\n"
    path.write_text(deep + path.read_text(), encoding="utf-8")
    found, report = read_one(path)
    assert texts(found.rows) == ["hi", "bye"]
    assert (report.problems[0].line, report.problems[0].detail) == (1, "it is nested too deeply")


def test_bytes_that_are_no_utf_8_are_replaced_and_told(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"role": "user", "content": "caf\xe9"}\n{"role": "user", "content": "x"}\n')
    found, report = read_one(path)
    assert texts(found.rows) == ["caf\ufffd", "x"]
    assert report.counts == {ProblemKind.REPLACED_CHARACTER: 1}
