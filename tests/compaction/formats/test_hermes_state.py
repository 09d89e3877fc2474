"""Hermes state.db: what compactions in place stored again is folded back into rows with their lifetimes."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from source_reading import DATA, Read, kinds, read, read_one, said, texts

from compaction.errors import InvalidSource
from compaction.messages import Role, RowKind
from compaction.wire import message_from_openai

REFERENCE = Path(os.environ.get("HERMES_REFERENCE", DATA / "reference"))
SAMPLE = REFERENCE / "state_sample.db"
CORPUS = Path(os.environ["HERMES_CORPUS"]) if os.environ.get("HERMES_CORPUS") else None
STORES = [SAMPLE, *sorted(CORPUS.rglob("state.db") if CORPUS else ())]


def rows_of(path: Path, session_id: str) -> list[dict]:
    """The stored rows of a session, as the database has them."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        database.row_factory = sqlite3.Row
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        query = "select * from messages where session_id = ? order by id"
        return [dict(row) for row in database.execute(query, (session_id,))]


def stored_message(row: dict) -> tuple:
    """What a stored row says, read here a second time and by simpler means."""
    content = row["content"]
    if isinstance(content, str) and content.startswith("\x00json:"):
        content = json.loads(content[6:])
    mapping = {"role": row["role"], "content": content, "tool_calls": json.loads(row["tool_calls"] or "null")}
    if row["tool_call_id"]:
        mapping["tool_call_id"] = row["tool_call_id"]
    return said(message_from_openai(mapping, lambda problem: None))


def expected_live(rows: list[dict]) -> list[tuple]:
    """The active rows; a joined row stands for those it was joined from, a merged summary for itself and its text."""
    first = {}
    for row in rows:
        if row.get("message_uid") and not json.loads(row["absorbed_message_uids"] or "[]"):
            first.setdefault(row["message_uid"], row)
    found = []
    for row in rows:
        if row["active"] not in (1, None):
            continue
        absorbed = json.loads(row.get("absorbed_message_uids") or "[]")
        if absorbed:
            found += [stored_message(first[uid]) for uid in (row["message_uid"], *absorbed)]
        elif "[PRIOR CONTEXT" in (row["content"] or "") or " ---\n\n" in (row["content"] or ""):
            found += unmerged(row)
        else:
            found.append(stored_message(row))
    return found


def unmerged(row: dict) -> list[tuple]:
    """A row into which a summary was merged: the summary, then what was there before."""
    text = row["content"]
    start, end = text.index("[CONTEXT COMPACTION"), text.index(" summary above ---") + len(" summary above ---")
    live = text[end:].strip()
    if text.startswith("[PRIOR CONTEXT"):
        live = text[text.index("]") + 1 : text.index("[END OF PRIOR CONTEXT")].strip()
    summary = stored_message({**row, "content": text[start:end], "tool_calls": None})
    return [summary, stored_message({**row, "content": live})]


def sessions_of(path: Path) -> dict[str, Read]:
    found, report = read(path)
    assert report.counts == {}
    return {each.session.foreign_id: each for each in found}


@pytest.mark.parametrize("path", STORES, ids=lambda path: path.name)
def test_the_live_rows_after_the_last_event_are_the_active_rows_of_the_store(path):
    for session_id, found in sessions_of(path).items():
        live = [row for row in found.live if row.foreign_id != "system"]
        assert [said(row.message) for row in live] == expected_live(rows_of(path, session_id)), session_id


@pytest.mark.parametrize("path", STORES, ids=lambda path: path.name)
def test_no_text_of_the_store_is_lost_and_none_comes_twice(path):
    for session_id, found in sessions_of(path).items():
        stored = rows_of(path, session_id)
        everything = [*found.rows, *(row for event in found.passes for row in event.inserted)]
        everything += [rewrite.row for event in found.passes for rewrite in event.rewritten]
        told = {said(row.message)[1] for row in everything}
        plain = [row for row in stored if "CONTEXT COMPACTION" not in (row["content"] or "")]
        joined = {row["id"] for row in stored if json.loads(row.get("absorbed_message_uids") or "[]")}
        assert {stored_message(row)[1] for row in plain if row["id"] not in joined} <= told
        uids = Counter(row.foreign_id for row in everything)
        assert max(uids.values()) == 1


def test_a_session_of_micro_passes_has_one_row_per_message_and_one_pass_per_logged_commit():
    found = sessions_of(SAMPLE)["20261101_090000_micro1"]
    assert len(rows_of(SAMPLE, found.session.foreign_id)) == 484
    assert len(found.rows) == 100
    log = (REFERENCE / "agent_sample.log").read_text(encoding="utf-8")
    lines = [
        json.loads(line.split("telemetry: ")[1]) for line in log.splitlines() if "micro compaction telemetry" in line
    ]
    own = [line for line in lines if line["session_id"] == found.session.foreign_id]
    committed = [line["outcome"] for line in own if line["outcome"] in ("absorbed", "defrag")]
    assert len(found.passes) == len(committed) == 11
    assert {event.kind for event in found.passes} == {RowKind.MICRO_SUMMARY}
    assert kinds(found.live).count(RowKind.MICRO_SUMMARY) == 1


def test_a_micro_pass_archives_one_exchange_and_the_summary_before_it():
    found = sessions_of(SAMPLE)["20261101_090000_micro1"]
    by_id = {row.foreign_id: row for row in found.rows}
    roles = [[by_id[gone].message.role for gone in event.archived if gone in by_id] for event in found.passes]
    assert all(Role.USER not in archived for archived in roles)
    defrag = found.passes[6]
    assert roles[6] == [] and defrag.archived == (found.passes[5].inserted[0].foreign_id,)
    assert len(found.live) == 53  # 45 stored rows, of which one is nine user rows joined


def test_the_turn_that_was_not_saved_yet_stands_before_the_pass_that_ran_at_its_end():
    found = sessions_of(SAMPLE)["20261104_120000_cjk"]
    first_pass = found.events.index(found.passes[0])
    before = [event.row.message.text for event in found.events[:first_pass]]
    assert before[4].startswith("第2步")


def test_a_batch_pass_names_what_it_pruned_and_unwraps_the_row_it_merged_its_summary_into():
    found = sessions_of(SAMPLE)["20261102_100000_batch1"]
    first, second = found.passes
    assert (first.kind, second.kind) == (RowKind.BATCH_SUMMARY, RowKind.BATCH_SUMMARY)
    assert {rewrite.row.kind for rewrite in first.rewritten} == {RowKind.PRUNE_STUB}
    assert first.inserted[0].message.text.startswith("[CONTEXT COMPACTION")
    after = next(row for row in found.rows if row.foreign_id == first.before)
    assert after.message.tool_calls and not after.message.text
    assert first.inserted[0].foreign_id in second.archived


def test_micro_passes_after_a_batch_pass_are_told_apart_from_it():
    found = sessions_of(SAMPLE)["20261107_150000_mixed"]
    expected = [RowKind.MICRO_SUMMARY] * 4 + [RowKind.BATCH_SUMMARY] + [RowKind.MICRO_SUMMARY] * 2
    assert [event.kind for event in found.passes] == expected


def test_a_rotation_links_the_child_and_its_summary_stands_for_rows_of_the_parent():
    found = sessions_of(SAMPLE)
    child = found["20261129_214917_556605"]
    assert (child.session.parent_foreign_id, child.session.parent_link) == ("20261103_110000_parent", "compression")
    (event,) = child.passes
    assert event.archived == () and event.kind is RowKind.BATCH_SUMMARY
    assert kinds(child.live).count(RowKind.BATCH_SUMMARY) == 1
    assert found["20261103_110000_parent"].passes == []


def test_the_system_prompt_is_the_first_row_and_not_overhead():
    found = sessions_of(SAMPLE)["20261102_100000_batch1"]
    assert (found.rows[0].foreign_id, found.rows[0].message.role) == ("system", Role.SYSTEM)
    assert found.rows[0].message.text.startswith("You are a helper.")
    assert found.session.fixed_overhead_tokens is None


def test_contents_stored_as_json_behind_a_nul_are_decoded():
    found = sessions_of(SAMPLE)["20261105_130000_images"]
    pictures = [row for row in found.live if said(row.message)[2]]
    assert len(pictures) == 5
    assert not any("\x00" in row.raw + row.message.text for row in found.rows)


def new_store(path: Path, columns: str = "content, timestamp, active, compacted") -> sqlite3.Connection:
    """A small database of the shape every version shares."""
    database = sqlite3.connect(path)
    database.execute(
        "create table sessions (id text primary key, source text, parent_session_id text, end_reason text)"
    )
    extra = "".join(f", {column}" for column in columns.split(", "))
    database.execute(f"create table messages (id integer primary key, session_id text, role text{extra})")
    database.execute("insert into sessions (id, source) values ('s', 'cli')")
    return database


def fill(database: sqlite3.Connection, *rows: tuple) -> None:
    """Rows as (role, content, active, compacted), a second apart."""
    for number, (role, content, active, compacted) in enumerate(rows):
        values = (role, content, 1000 + number, active, compacted)
        database.execute(
            "insert into messages (session_id, role, content, timestamp, active, compacted) values ('s',?,?,?,?,?)",
            values,
        )
    database.commit()


SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted.\n## Goal\nship it"


def test_a_database_without_the_columns_of_compaction_is_all_live(tmp_path):
    with closing(new_store(tmp_path / "state.db", "content")) as database:
        database.execute("insert into messages (session_id, role, content) values ('s', 'user', 'hello')")
        database.commit()
    found, _ = read_one(tmp_path / "state.db")
    assert texts(found.live) == ["hello"]


def test_a_null_in_active_means_live(tmp_path):
    with closing(new_store(tmp_path / "state.db")) as database:
        fill(database, ("user", "one", None, 0), ("assistant", "two", 1, 0), ("user", "gone", 0, 0))
    found, _ = read_one(tmp_path / "state.db")
    assert texts(found.live) == ["one", "two"]
    assert len(found.rewound) == 1


def test_a_rewind_comes_before_what_was_said_after_it(tmp_path):
    with closing(new_store(tmp_path / "state.db")) as database:
        fill(
            database,
            ("user", "ask", 1, 0),
            ("assistant", "wrong", 0, 0),
            ("user", "also wrong", 0, 0),
            ("assistant", "right", 1, 0),
        )
    found, _ = read_one(tmp_path / "state.db")
    assert [type(event).__name__ for event in found.events] == ["RowAppended"] * 3 + ["RowsRewound", "RowAppended"]


def test_two_compactions_in_place_without_row_identity_leave_each_row_once(tmp_path):
    archived, live = (0, 1), (1, 0)
    old = [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"), ("user", "e"), ("assistant", "f")]
    first = [("user", "a"), ("assistant", SUMMARY + " 1"), ("user", "e"), ("assistant", "f")]
    added = [("user", "g"), ("assistant", "h")]
    second = [("user", "a"), ("assistant", SUMMARY + " 2"), ("user", "g"), ("assistant", "h")]
    rows = [(*row, *archived) for row in (*old, *first, *added)] + [(*row, *live) for row in (*second, ("user", "i"))]
    with closing(new_store(tmp_path / "state.db")) as database:
        fill(database, *rows)
    found, _ = read_one(tmp_path / "state.db")
    assert texts(found.rows) == list("abcdefghi")
    assert texts(found.live) == ["a", SUMMARY + " 2", "g", "h", "i"]
    assert [len(event.archived) for event in found.passes] == [3, 3]


def test_words_that_were_said_before_are_no_copy(tmp_path):
    rows = [(role, text, 0, 1) for _ in range(3) for role, text in (("user", "continue"), ("assistant", "ok"))]
    compacted = [("user", "continue"), ("assistant", "ok"), ("user", SUMMARY), ("assistant", "ok")]
    with closing(new_store(tmp_path / "state.db")) as database:
        fill(database, *rows, *((*row, 1, 0) for row in compacted))
    found, _ = read_one(tmp_path / "state.db")
    assert len(found.rows) == 6
    assert texts(found.live) == [text for _, text in compacted]


@pytest.mark.parametrize(
    "case", json.loads((REFERENCE / "vectors" / "db_semantics.json").read_text()), ids=lambda case: case["id"]
)
def test_recorded_stores_fold_to_their_active_rows(case, tmp_path):
    rows = case["expected"].get("rows") or []
    with closing(
        new_store(tmp_path / "state.db", "content, timestamp, active, compacted, _compressed_summary")
    ) as database:
        for row in rows:
            values = (row["id"], row["role"], row["content"], row["active"], row["compacted"], row["summary_flag"])
            database.execute(
                "insert into messages (id, session_id, role, content, active, compacted, _compressed_summary)"
                " values (?,'s',?,?,?,?,?)",
                values,
            )
        database.commit()
    found, _ = read_one(tmp_path / "state.db")
    assert sum(row.kind.is_summary for row in found.live) == sum(row["summary_flag"] for row in rows if row["active"])
    active = [row["content"].strip() for row in rows if row["active"]]
    assert [text.strip() for text in "\n\n".join(texts(found.live)).split("\n\n")] == "\n\n".join(active).split("\n\n")


def test_a_second_reading_of_a_grown_store_gives_the_known_rows_their_known_ids(tmp_path):
    path = tmp_path / "state.db"
    with closing(new_store(path)) as database:
        fill(database, ("user", "a", 1, 0), ("assistant", "b", 1, 0), ("user", "c", 1, 0), ("assistant", "d", 1, 0))
        before, _ = read_one(path)
        database.execute("update messages set active = 0, compacted = 1")
        fill(database, ("user", "a", 1, 0), ("assistant", SUMMARY, 1, 0), ("user", "c", 1, 0), ("assistant", "d", 1, 0))
        after, _ = read_one(path)
    assert [row.foreign_id for row in after.rows] == [row.foreign_id for row in before.rows]
    assert [gone for event in after.passes for gone in event.archived] == [before.rows[1].foreign_id]


def test_a_store_that_another_program_has_open_is_read_with_its_log_and_left_alone(tmp_path):
    path = tmp_path / "state.db"
    with closing(new_store(path)) as database:
        database.execute("pragma journal_mode = wal")
        fill(database, ("user", "only in the log", 1, 0))
        files = {each.name: each.read_bytes() for each in tmp_path.iterdir() if not each.name.endswith("-shm")}
        found, _ = read_one(path)
        assert texts(found.rows) == ["only in the log"]
        assert {each.name: each.read_bytes() for each in tmp_path.iterdir() if not each.name.endswith("-shm")} == files


def test_a_store_at_rest_is_read_without_a_new_file_beside_it(tmp_path):
    shutil.copyfile(SAMPLE, tmp_path / "state.db")
    with closing(sqlite3.connect(tmp_path / "state.db")) as database:
        database.execute("pragma journal_mode = wal")
    read(tmp_path / "state.db")
    assert [each.name for each in tmp_path.iterdir()] == ["state.db"]


def test_sub_agents_and_branches_are_no_continuations(tmp_path):
    with closing(new_store(tmp_path / "state.db")) as database:
        database.execute("update sessions set end_reason = 'branched'")
        database.execute(
            "insert into sessions (id, source, parent_session_id) values ('b', 'cli', 's'), ('c', 'cli', 'b')"
        )
        database.commit()
    links = {each.session.foreign_id: each.session.parent_link for each in read(tmp_path / "state.db")[0]}
    assert links == {"s": None, "b": "branch", "c": "subagent"}


def test_times_that_go_backwards_do_not_change_the_order(tmp_path):
    with closing(new_store(tmp_path / "state.db")) as database:
        fill(database, ("user", "first", 1, 0), ("assistant", "second", 1, 0))
        database.execute("update messages set timestamp = 5 where content = 'second'")
        database.commit()
    found, _ = read_one(tmp_path / "state.db")
    assert texts(found.live) == ["first", "second"]


def test_another_sqlite_database_is_refused_by_name(tmp_path):
    with closing(sqlite3.connect(tmp_path / "other.db")) as database:
        database.execute("create table t (x)")
        database.commit()
    with pytest.raises(InvalidSource, match="not of Hermes"):
        read(tmp_path / "other.db")


def test_a_broken_database_is_an_invalid_source(tmp_path):
    data = SAMPLE.read_bytes()
    (tmp_path / "state.db").write_bytes(data[:4096] + b"\xff" * 8192)
    with pytest.raises(InvalidSource, match="can't be read"):
        read(tmp_path / "state.db")


def test_odd_columns_give_rows_with_problems(tmp_path):
    with closing(new_store(tmp_path / "state.db", "content, tool_calls")) as database:
        rows = [("wizard", b"\xff\xfe", None), ("assistant", None, "{broken"), ("user", "\x00json:[broken", None)]
        database.executemany("insert into messages (session_id, role, content, tool_calls) values ('s',?,?,?)", rows)
        database.commit()
    found, report = read_one(tmp_path / "state.db")
    assert len(found.rows) == 3
    assert report.counts and all(problem.detail.startswith("message ") for problem in report.problems)
