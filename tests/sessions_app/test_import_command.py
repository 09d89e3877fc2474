"""`manage.py import_sessions` on real files, in a process of its own where its exit status matters."""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from compaction.formats import iter_source_paths, open_source
from compaction.formats.events import ImportReport, PassRecorded, RowAppended
from sessions_app import services
from sessions_app.models import CompactionPass, MessageRow, Session, SummaryRevision
from sessions_app.queries.totals import counted, recounted

pytestmark = pytest.mark.django_db
BASE = Path(settings.BASE_DIR)
REFERENCE = Path(os.environ.get("HERMES_REFERENCE", BASE / "tests" / "data" / "reference"))
BUGS = BASE / "tests" / "data" / "bugs"
SAMPLE = REFERENCE / "state_sample.db"


def run(*arguments):
    out = StringIO()
    call_command("import_sessions", *map(str, arguments), "--tokens", "rough", "--json", stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def refused(*arguments):
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_sample_store_shows_its_archived_rows_summaries_and_lineage():
    (outcome,) = run(SAMPLE)
    assert outcome["error"] == ""
    sessions = {session.title: session for session in Session.objects.all()}
    micro = sessions["Module refactor (micro)"]
    assert micro.micro_passes == 11
    assert (
        micro.archived_rows
        == MessageRow.objects.filter(session=micro, archived_by__isnull=False, kind="message").count()
        > 0
    )
    assert SummaryRevision.objects.filter(session=micro).count() == 11
    assert MessageRow.objects.filter(session=micro, kind="micro_summary", died_seq__isnull=True).count() == 1
    child = sessions["Lineage demo"]
    assert child.parent is not None
    assert child.parent_link == "compression"
    for session in sessions.values():
        assert counted(session) == recounted(session.pk)


def test_what_is_no_regular_file_is_refused_at_once_also_in_a_folder(tmp_path):
    pipe = tmp_path / "talk.jsonl"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path in (pipe, tmp_path, tmp_path / "socket", "/dev/zero"):
            assert "not a regular file" in refused(path)


def test_a_second_import_of_the_sample_store_adds_nothing():
    run(SAMPLE)
    rows, passes = MessageRow.objects.count(), CompactionPass.objects.count()
    (outcome,) = run(SAMPLE)
    assert sum(session["rows_added"] for session in outcome["sessions"]) == 0
    assert sum(session["rows_present"] for session in outcome["sessions"]) > 0
    assert (MessageRow.objects.count(), CompactionPass.objects.count()) == (rows, passes)


def test_skipped_lines_are_counted_with_reason_and_line_number():
    (outcome,) = run(BUGS / "I08_corrupt_middle_line.jsonl")
    (problem,) = [one for one in outcome["problems"] if one["kind"] == "unparsable_line"]
    assert problem["line"] > 1
    assert outcome["counts"]["unparsable_line"] == 1
    session = Session.objects.get()
    assert session.import_report["counts"]["unparsable_line"] == 1
    assert session.import_report["path"] == "I08_corrupt_middle_line.jsonl"


def test_people_get_the_same_in_words():
    out = StringIO()
    call_command("import_sessions", str(BUGS / "I08_corrupt_middle_line.jsonl"), "--tokens", "rough", stdout=out)
    assert "rows added, 0 already present" in out.getvalue()
    assert "1 unparsable line, line " in out.getvalue()


def test_a_missing_file_is_refused_before_anything_is_read(tmp_path):
    assert "no such file" in refused(SAMPLE, tmp_path / "missing.jsonl")
    assert not Session.objects.exists()


def test_a_folder_without_transcripts_is_refused(tmp_path):
    assert "there is no transcript file in" in refused(tmp_path)


def test_an_unknown_project_is_refused():
    assert refused(SAMPLE, "--project", "nowhere") == (
        "there is no project 'nowhere'; this makes one: manage.py create_project nowhere"
    )


def test_an_unknown_format_and_an_unreadable_file_are_refused(tmp_path):
    noise = tmp_path / "noise.jsonl"
    noise.write_text("not a transcript")
    assert str(noise) in refused(noise)
    refused(SAMPLE, "--format", "nonsense")


def test_a_file_that_cannot_be_read_does_not_keep_the_others_out(tmp_path):
    (tmp_path / "a_noise.jsonl").write_text("not a transcript")
    (tmp_path / "b.jsonl").write_text('{"role": "user", "content": "hello"}\n{"role": "assistant", "content": "hi"}\n')
    assert "a_noise.jsonl" in refused(tmp_path)
    assert Session.objects.count() == 1


def test_people_read_each_error_once_and_how_many_files_it_concerns(tmp_path):
    (tmp_path / "a_noise.jsonl").write_text("not a transcript")
    (tmp_path / "b.jsonl").write_text('{"role": "user", "content": "hello"}\n')
    out = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("import_sessions", str(tmp_path), "--tokens", "rough", stdout=out)
    assert caught.value.returncode == 2
    assert str(caught.value) == "1 of 2 files could not be read, or not to the end; the errors stand above"
    assert out.getvalue().count("  error: ") == 1
    assert Session.objects.count() == 1


def test_files_go_into_the_project_that_is_named(project):
    run(BUGS / "I08_corrupt_middle_line.jsonl", "--project", project.slug)
    assert Session.objects.get().project == project


def test_without_a_project_the_default_one_takes_them():
    run(BUGS / "I08_corrupt_middle_line.jsonl")
    assert Session.objects.get().project == services.default_project()


@pytest.mark.django_db(transaction=True)
def test_bad_input_ends_with_status_two_and_one_line_on_stderr(database_url):
    ended = subprocess.run(
        [sys.executable, "manage.py", "import_sessions", "missing.jsonl", "--json"],
        cwd=BASE,
        env={**os.environ, "DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert len(ended.stderr.strip().splitlines()) == 1


def corpus_files():
    folder = os.environ.get("HERMES_CORPUS")
    if folder is None:
        return [SAMPLE, *sorted(BUGS.glob("I0*.jsonl"))]
    return [file.path for file in iter_source_paths([Path(folder)]) if file.entry is None]


def told_by(path):
    """Rows and passes that the file holds, by the reader's own events."""
    rows, passes = Counter(), Counter()
    for session in open_source(path, report=ImportReport(str(path))):
        for event in session.events():
            rows[session.foreign_id] += isinstance(event, RowAppended)
            passes[session.foreign_id] += isinstance(event, PassRecorded)
    return rows, passes


@pytest.mark.parametrize("path", corpus_files(), ids=lambda path: path.name)
def test_every_row_and_pass_of_a_file_is_stored_once_and_a_second_import_adds_nothing(path):
    try:
        rows, passes = told_by(path)
    except ValueError:
        assert refused(path)
        return
    run(path)
    stored = {session.foreign_id: session for session in Session.objects.all()}
    assert {name: session.next_position for name, session in stored.items()}.keys() == rows.keys()
    for name, session in stored.items():
        made = MessageRow.objects.filter(session=session)
        assert made.filter(made_by__isnull=True).count() == rows[name]
        assert session.passes_total == passes[name]
        assert counted(session) == recounted(session.pk)
    before = MessageRow.objects.count()
    run(path)
    assert MessageRow.objects.count() == before


WRITES = 400


def write_messages(path, started):
    """Write rows into a store as its owner does, one commit each."""
    store = sqlite3.connect(path)
    store.execute("PRAGMA journal_mode = WAL")
    (session_id,) = store.execute("SELECT id FROM sessions WHERE title = 'Small talk'").fetchone()
    for number in range(WRITES):
        store.execute(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', ?, ?)",
            (session_id, f"written {number}", 1.9e9 + number),
        )
        store.commit()
        started.set()
    store.close()


def test_s14_importing_a_store_while_its_owner_writes_loses_no_write(tmp_path):
    path = tmp_path / "state.db"
    shutil.copyfile(SAMPLE, path)
    started = threading.Event()
    owner = threading.Thread(target=write_messages, args=(path, started))
    owner.start()
    assert started.wait(10)
    for _ in range(5):
        run(path)
    owner.join()
    with sqlite3.connect(path) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        told = store.execute("SELECT count(*) FROM messages WHERE content LIKE 'written %'").fetchone()
    assert told == (WRITES,)
    run(path)
    assert MessageRow.objects.filter(content__startswith="written ").count() == WRITES
