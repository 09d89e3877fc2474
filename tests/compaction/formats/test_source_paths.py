"""Files, folders and archives: what is read, and what is refused with a sentence."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path

import pytest
from source_reading import BUGS, DATA, read, read_one, texts, write_lines

from compaction.errors import InvalidSource
from compaction.formats import iter_source_paths
from compaction.formats import source_paths as limits
from compaction.formats.source_file import SourceFile

LINE = '{"role": "user", "content": "hi"}\n{"role": "assistant", "content": "hello"}\n'


def archive(path: Path, entries: dict[str, bytes | str], packing: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", packing) as opened:
        for name, data in entries.items():
            opened.writestr(name, data)
    return path


def refusals(files) -> dict[str, str]:
    return {file.entry or file.name: file.refusal for file in files if file.refusal}


def test_i14_names_that_climb_links_and_bombs_are_refused_one_by_one_and_the_rest_is_read():
    files = list(iter_source_paths([BUGS / "I14_traversal.zip"]))
    refused = refusals(files)
    for name in ("../evil.jsonl", "/abs.jsonl", "a/../../b.jsonl", "..\\win.jsonl"):
        assert refused[name] == "its name points outside the archive, so it is not read"
    assert refused["link.jsonl"] == "it is a symbolic link inside an archive, which is not followed"
    assert refused["ratio.jsonl"] == "it is packed 1,007 to 1; more than 100 to 1 is not read"
    (good,) = (file for file in files if not file.refusal)
    assert good.entry == "ok/session.jsonl"
    found, _ = read_one(good)
    assert len(found.rows) == 1


def test_a_refused_file_raises_its_sentence_with_its_name_when_it_is_opened():
    for file in iter_source_paths([BUGS / "I14_traversal.zip"]):
        if file.refusal:
            with pytest.raises(InvalidSource, match="not read|not followed") as caught:
                read(file)
            assert file.label in str(caught.value)


def test_nothing_in_an_archive_is_written_under_its_name(tmp_path, monkeypatch):
    path = archive(tmp_path / "a.zip", {"deep/er/chat.jsonl": LINE})
    monkeypatch.chdir(tmp_path)
    (file,) = iter_source_paths([path])
    assert len(read_one(file)[0].rows) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["a.zip"]


@pytest.mark.parametrize(
    ("limit", "value", "sentence"),
    [
        ("MAX_ENTRIES", 2, "the archive holds 3 files; at most 2 are read"),
        ("MAX_TOTAL_BYTES", 100, "the archive unpacks to 228 bytes; at most 100 are read"),
        ("MAX_ENTRY_BYTES", 50, "it unpacks to 76 bytes; at most 50 are read"),
    ],
)
def test_an_archive_with_too_much_in_it_is_refused(limit, value, sentence, tmp_path, monkeypatch):
    path = archive(tmp_path / "a.zip", {f"{number}.jsonl": LINE for number in range(3)})
    monkeypatch.setattr(limits, limit, value)
    assert set(refusals(iter_source_paths([path])).values()) == {sentence}


def test_an_entry_that_is_larger_than_it_says_is_stopped(tmp_path, monkeypatch):
    from compaction.formats import source_file

    path = archive(tmp_path / "a.zip", {"chat.jsonl": LINE})
    monkeypatch.setattr(source_file, "MAX_ENTRY_BYTES", 20)
    with pytest.raises(InvalidSource, match="larger than 20 bytes when unpacked"):
        read(SourceFile(path, "chat.jsonl"))


def test_an_entry_with_a_wrong_checksum_is_an_invalid_source(tmp_path):
    path = archive(tmp_path / "a.zip", {"chat.jsonl": LINE}, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b'"hi"', b'"ho"'))
    with pytest.raises(InvalidSource, match="can't be read"):
        read(SourceFile(path, "chat.jsonl"))


def test_encrypted_entries_and_archives_in_archives_are_refused(tmp_path):
    inner = archive(tmp_path / "inner.zip", {"chat.jsonl": LINE}).read_bytes()
    path = archive(tmp_path / "a.zip", {"inner.zip": inner, "chat.jsonl": LINE, "readme.md": "x"}, zipfile.ZIP_STORED)
    data = path.read_bytes()
    central = data.rindex(b"PK\x01\x02", 0, data.rindex(b"PK\x01\x02"))  # the second of three entries
    path.write_bytes(data[: central + 8] + b"\x01" + data[central + 9 :])
    refused = refusals(iter_source_paths([path]))
    assert refused["inner.zip"] == "it is an archive inside an archive; unpack it first"
    assert refused["chat.jsonl"] == "it is encrypted; unpack the archive and import the file"
    assert "readme.md" not in refused


def test_a_broken_archive_in_a_folder_is_given_out_and_refused_when_read(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 not really")
    (file,) = iter_source_paths([tmp_path])
    with pytest.raises(InvalidSource, match="ZIP archive"):
        read(file)


def test_a_folder_gives_its_transcripts_in_order_and_no_links(tmp_path):
    (tmp_path / "b").mkdir()
    for name in ("b/two.jsonl", "one.json", "notes.md", "state.db-wal", "agent-1.meta.json"):
        (tmp_path / name).write_text(LINE, encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "one.json")
    archive(tmp_path / "c.zip", {"three.jsonl": LINE})
    files = list(iter_source_paths([tmp_path]))
    assert [file.name for file in files] == ["three.jsonl", "link.jsonl", "one.json", "two.jsonl"]
    assert refusals(files) == {"link.jsonl": "it is a symbolic link; name the file it points to instead"}


def test_a_file_that_is_named_is_read_whatever_its_name(tmp_path):
    (tmp_path / "chat.txt").write_text(LINE, encoding="utf-8")
    (file,) = iter_source_paths([tmp_path / "chat.txt"])
    assert len(read_one(file)[0].rows) == 2


def claude(uuid: str, **more) -> dict:
    message = {"role": "user", "content": f"says {uuid}"}
    return {"type": "user", "uuid": uuid, "parentUuid": None, "sessionId": "s1", "message": message, **more}


def agent_folder(root: Path) -> None:
    write_lines(root / "s1.jsonl", claude("u1"))
    (root / "s1" / "subagents").mkdir(parents=True)
    write_lines(root / "s1" / "subagents" / "agent-a.jsonl", claude("a1", isSidechain=True, agentId="a"))
    write_lines(root / "agent-b.jsonl", claude("b1", isSidechain=True, agentId="b"))
    write_lines(root / "agent-c.jsonl", claude("c1", isSidechain=True, agentId="c", sessionId="other"))


def test_sub_agents_are_read_with_their_session_and_not_a_second_time(tmp_path):
    agent_folder(tmp_path)
    files = list(iter_source_paths([tmp_path]))
    assert [file.name for file in files] == ["agent-c.jsonl", "s1.jsonl"]
    found, _ = read(files[1])
    assert [each.session.foreign_id for each in found] == ["s1", "s1/a", "s1/b"]
    assert [file.name for file in iter_source_paths([BUGS / "I13_subagent"])] == ["parent.jsonl"]


def test_an_archive_of_sessions_with_sub_agents_reads_like_the_folder(tmp_path):
    agent_folder(tmp_path / "folder") if (tmp_path / "folder").mkdir() is None else None
    names = {
        str(path.relative_to(tmp_path / "folder")): path.read_text() for path in (tmp_path / "folder").rglob("*.jsonl")
    }
    files = list(iter_source_paths([archive(tmp_path / "a.zip", names)]))
    assert [file.name for file in files] == ["agent-c.jsonl", "s1.jsonl"]
    found, _ = read(files[1])
    assert [(each.session.foreign_id, texts(each.rows)) for each in found] == [
        ("s1", ["says u1"]),
        ("s1/a", ["says a1"]),
        ("s1/b", ["says b1"]),
    ]


def test_a_database_and_an_export_in_an_archive_are_read(tmp_path):
    lines = [
        {"id": name, "source": "cli", "started_at": 1.0, "messages": [{"role": "user", "content": name}]}
        for name in "ab"
    ]
    export = "".join(json.dumps(line) + "\n" for line in lines)
    store = (DATA / "reference" / "state_sample.db").read_bytes()
    files = list(iter_source_paths([archive(tmp_path / "a.zip", {"home/state.db": store, "export.jsonl": export})]))
    assert [[texts(each.rows) for each in read(files[0])[0]], len(read(files[1])[0])] == [[["a"], ["b"]], 9]


def test_a_link_in_an_archive_is_known_by_its_mode(tmp_path):
    entry = zipfile.ZipInfo("chat.jsonl")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as opened:
        opened.writestr(entry, "/etc/passwd")
    assert "symbolic link" in refusals(iter_source_paths([tmp_path / "a.zip"]))["chat.jsonl"]


def test_an_archive_that_was_cut_off_or_holds_no_transcript_says_so(tmp_path):
    whole = archive(tmp_path / "whole.zip", {"a.jsonl": LINE * 50, "b.jsonl": LINE})
    cut = tmp_path / "cut.zip"
    cut.write_bytes(whole.read_bytes()[:60])
    empty, other = archive(tmp_path / "empty.zip", {}), archive(tmp_path / "other.zip", {"notes.txt": "hello"})
    files = list(iter_source_paths([cut, empty, other]))
    assert [file.refusal for file in files] == [limits.CUT_ARCHIVE, limits.NO_TRANSCRIPT, limits.NO_TRANSCRIPT]
    assert refusals(iter_source_paths([tmp_path]))["cut.zip"] == limits.CUT_ARCHIVE
