"""Telling formats apart by what is in the file."""

from __future__ import annotations

import json

import pytest

from compaction.errors import InvalidSource
from compaction.formats import open_source
from compaction.formats.detect import LABELS, Format, detect
from compaction.formats.events import ImportReport
from compaction.formats.readers import READERS
from compaction.formats.source_file import SourceFile

CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
DOCUMENTS = {
    "swe-agent": {"history": CHAT, "trajectory": [], "info": {}},
    "atif": {"schema_version": "ATIF-v1.2", "steps": []},
    "gemini-cli": {"sessionId": "x", "projectHash": "h", "messages": [{"type": "user", "content": "hi"}]},
    "claude-web": {"loglines": []},
    "hermes-snapshot": {"session_id": "x", "platform": "cli", "messages": CHAT},
    "hermes-export": {"id": "x", "source": "cli", "started_at": 1.0, "messages": CHAT},
    "openai-chat": {"model": "m", "messages": CHAT},
    "sharegpt": {"conversations": [{"from": "human", "value": "hi"}]},
}
LISTS = {
    "openai-chat": [CHAT, [{"task_id": 1, "traj": CHAT}], [{"messages": CHAT}]],
    "sharegpt": [[{"conversations": [{"from": "human", "value": "hi"}]}], [{"from": "human", "value": "hi"}]],
    "openhands": [[{"id": 0, "source": "user", "action": "message", "args": {}}]],
    "openhands-sdk": [[{"kind": "MessageEvent", "source": "user", "id": "x"}]],
}
LINES = {
    "codex": [{"timestamp": "t", "type": "session_meta", "payload": {}}, {"type": "response_item", "payload": {}}],
    "codex-legacy": [
        {"id": "x", "timestamp": "t", "instructions": None, "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    ],
    "claude-code": [
        {"type": "summary", "summary": "t", "leafUuid": "u"},
        {"type": "user", "uuid": "u", "parentUuid": None, "message": CHAT[0]},
    ],
    "pi": [{"type": "session", "cwd": "/x", "provider": "p"}, {"type": "message", "message": {"role": "toolResult"}}],
    "sharegpt": [{"conversations": [], "completed": True, "model": "m"}] * 2,
    "hermes-export": [{"id": "x", "source": "cli", "started_at": 1.0, "messages": CHAT}] * 2,
    "hermes-prompts": [{"session_id": "x", "index": 0, "text": "hi"}] * 2,
    "hermes-transcript": [{"type": "session_meta", "session_id": "x"}, *CHAT],
    "openhands-eval": [{"instance_id": "x", "history": [], "instruction": ""}] * 2,
    "openhands-sdk": [{"kind": "MessageEvent", "source": "user"}] * 2,
    "openai-chat": [{"messages": CHAT}, {"messages": CHAT}],
}


def found(path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return detect(SourceFile(path)).value


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_document_is_told_by_its_keys_on_one_line_and_on_many(name, indent, tmp_path):
    assert found(tmp_path / "x.txt", json.dumps(DOCUMENTS[name], indent=indent)) == name


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in LISTS.items() for value in values])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_is_told_by_its_items(name, value, indent, tmp_path):
    assert found(tmp_path / "x.jsonl", json.dumps(value, indent=indent)) == name


@pytest.mark.parametrize("name", LINES)
def test_lines_are_told_by_what_most_of_them_are(name, tmp_path):
    lines = [json.dumps(value) for value in LINES[name]]
    assert found(tmp_path / "x.json", "\n".join(lines)) == name
    disturbed = ["// comment", "", *lines[:1], '{"cut', *lines[1:]]
    assert found(tmp_path / "x.json", "\n".join(disturbed)) == name


def test_a_file_whose_first_line_is_cut_is_still_told_by_the_others(tmp_path):
    lines = [json.dumps(value) for value in LINES["claude-code"]]
    assert found(tmp_path / "x.jsonl", "\n".join([lines[1][10:], *lines])) == "claude-code"


def test_every_format_has_a_label_and_those_without_a_reader_are_refused_by_it(tmp_path):
    assert set(LABELS) == set(Format)
    for name, value in DOCUMENTS.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        report = ImportReport(str(path))
        if Format(name) in READERS:
            assert list(open_source(path, report=report))
        else:
            with pytest.raises(
                InvalidSource, match=f"recognised as {LABELS[Format(name)]}; this format can't be read yet"
            ):
                list(open_source(path, report=report))
        assert report.format == name


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "the file is empty"),
        (b"hello world\n", "in no transcript format that is known here"),
        (b'{"a": 1}', "in no transcript format that is known here"),
        (b'[1, 2, "x"]', "in no transcript format that is known here"),
        (b'{\n "messages": [\n', "it is no JSON: "),
        (b"[" * 5000, "nested too deeply"),
        (b"PK\x03\x04rest", "it is a ZIP archive"),
        ('{"role": "user"}'.encode("utf-16"), "UTF-16"),
        ('{"role": "user"}'.encode("utf-16-be"), "UTF-16"),
        (bytes(range(256)), "in no transcript format"),
    ],
)
def test_what_is_no_transcript_is_refused_with_a_reason_and_the_files_name(data, sentence, tmp_path):
    path = tmp_path / "some.file"
    path.write_bytes(data)
    with pytest.raises(InvalidSource, match=sentence) as caught:
        list(open_source(path, report=ImportReport(str(path))))
    assert str(path) in str(caught.value)


def test_a_missing_file_and_an_unknown_format_are_refused(tmp_path):
    with pytest.raises(InvalidSource, match="can't be read: "):
        list(open_source(tmp_path / "none.json", report=ImportReport("x")))
    with pytest.raises(InvalidSource, match="no format called 'docx'"):
        list(open_source(tmp_path / "none.json", format="docx", report=ImportReport("x")))


def test_a_format_that_is_asked_for_is_not_guessed(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"content": "no role"}\n{"content": "again"}\n', encoding="utf-8")
    report = ImportReport(str(path))
    (session,) = open_source(path, format="hermes-transcript", report=report)
    assert len(list(session.events())) == 2
