"""What the import pages say of what was read, skipped and left out, whoever asked for it."""

import re
import zipfile
from html import unescape
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from page_reading import client_of, page

from sessions_app import import_jobs
from sessions_app.import_jobs import run_import_job
from sessions_app.models import AuditEntry, ImportJob, MemberRole
from sessions_app.services import add_member, default_project
from sessions_app.services.imports import UploadedFile, request_import

pytestmark = pytest.mark.django_db
TALK = '{"role": "user", "content": "hello"}\n# a comment\nnot JSON\n{"role": "assistant", "content": "hi\\ud800"}\n'


def text_of(client, path):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page(client, path))).split())


def imported(project, path):
    job = request_import(project, [UploadedFile(path.name, str(path), path.stat().st_size)])
    run_import_job(job.pk)
    return job


def by_command(path):
    call_command("import_sessions", str(path), "--tokens", "rough", stdout=StringIO())


def test_kinds_of_skipped_lines_add_up_and_what_was_kept_stands_apart(owner, project, tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text(TALK, encoding="utf-8")
    job = imported(project, path)
    (told,) = ImportJob.objects.get(pk=job.pk).report
    assert sum(told["skipped_counts"].values()) == told["skipped_lines"] == 2
    shown = text_of(client_of(owner), f"/import/{job.pk}/")
    assert "2 lines skipped: a comment 1, not JSON 1 ; kept with oddities:" in shown
    ImportJob.objects.filter(pk=job.pk).update(report=[{key: told[key] for key in told if key != "skipped_counts"}])
    assert "2 lines skipped: a comment 1, not JSON 1 ; kept" in text_of(client_of(owner), f"/import/{job.pk}/")


def test_a_file_that_could_not_be_read_is_not_called_read(owner, project, tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_bytes(b"\x00\x01nothing of any format")
    shown = text_of(client_of(owner), f"/import/{imported(project, path).pk}/")
    assert "1 of 1 file done, 1 of them could not be read" in shown
    assert "file read" not in shown


def test_files_of_an_archive_that_nobody_looks_at_are_named(owner, project, tmp_path):
    path = tmp_path / "talks.zip"
    with zipfile.ZipFile(path, "w") as opened:
        for name in ("a.jsonl", "b.jsonl", "README.md", "pictures/one.png"):
            opened.writestr(name, TALK)
    job = imported(project, path)
    shown = text_of(client_of(owner), f"/import/{job.pk}/")
    told = "2 files of talks.zip were left out, because their names are no transcript's: README.md, pictures/one.png"
    assert shown.count(told) == 1
    assert "2 of 2 files done" in shown


def test_what_was_imported_on_the_command_line_is_listed_and_marked(owner, tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text(TALK, encoding="utf-8")
    by_command(path)
    project = default_project()
    add_member(project, owner, MemberRole.VIEWER)
    job = ImportJob.objects.get()
    assert (job.project, job.source, job.status, job.progress_done) == (project, "command", "done", 1)
    assert AuditEntry.objects.get(action="import.requested").source == "command"
    listed = text_of(client_of(owner), "/import/")
    assert "talk.jsonl" in listed and f"{project.name}, on the command line" in listed
    shown = page(client_of(owner), f"/import/{job.pk}/")
    assert "2 lines skipped" in shown and str(tmp_path) not in shown and "hx-trigger" not in shown
    assert path.exists()


def test_a_command_that_could_read_nothing_is_listed_as_failed(tmp_path, db):
    path = tmp_path / "talk.jsonl"
    path.write_bytes(b"\x00\x01nothing of any format")
    with pytest.raises(CommandError):
        by_command(path)
    job = ImportJob.objects.get()
    assert (job.status, job.error) == ("failed", import_jobs.NOTHING_READ)


def test_of_very_many_files_the_first_are_listed_and_the_others_counted(owner, tmp_path, monkeypatch):
    monkeypatch.setattr(import_jobs, "MOST_REPORTED_FILES", 2)
    for number in range(5):
        (tmp_path / f"{number}.jsonl").write_text(TALK.replace("hello", f"hello {number}"), encoding="utf-8")
    by_command(tmp_path)
    add_member(default_project(), owner, MemberRole.VIEWER)
    job = ImportJob.objects.get()
    assert len(job.report) == 2
    assert "3 more files were read and are not listed here." in text_of(client_of(owner), f"/import/{job.pk}/")
