"""The sample whose summarizer keeps failing, exported and imported again: each pass comes back with its figures."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from compaction.edits import Edit
from compaction.formats.source_file import SourceFile
from compaction.records import Outcome, PassKind, PassRecord
from sessions_app import services
from sessions_app.api.passes import DecisionShape, PassShape
from sessions_app.exporting.formats import ExportFormat, export_pieces
from sessions_app.importing.files import import_file
from sessions_app.models import CompactionPass, MemberRole, Session, SummaryRevision
from sessions_app.sample_project import load_sample, samples_project
from sessions_app.samples.catalogue import FAILING

pytestmark = pytest.mark.django_db
COMPARED = [*DecisionShape.model_fields, "at", "trigger", "committed"]
# An event's number and the program that made the pass are the copy's own.
NOT_COMPARED = {"seq", "origin", "undone_seq"}


@pytest.fixture
def failing(tell, checkout, counter):
    project = samples_project()
    list(load_sample(FAILING, project, checkout, counter))
    return project.sessions.get(title=tell(FAILING).story.title)


def written(session, path, ending, is_redacted=False):
    path.write_bytes(b"".join(export_pieces(session, ExportFormat(ending), is_redacted=is_redacted)))
    return path


def brought_in(path, project, counter):
    outcome = import_file(SourceFile(path), project, counter)
    return Session.objects.get(public_id=outcome.sessions[0].public_id), outcome


def passes_of(session):
    return [
        {name: getattr(one, name) for name in COMPARED}
        for one in CompactionPass.objects.filter(session=session).order_by("number")
    ]


def counters_of(session):
    return {
        name: getattr(session, name)
        for name in (
            "passes_total",
            "micro_passes",
            "defrag_passes",
            "batch_passes",
            "prune_passes",
            "failed_passes",
        )
    }


def recounted(session):
    passes = list(CompactionPass.objects.filter(session=session))
    made = [one.kind for one in passes if one.committed]
    return {
        "passes_total": len(passes),
        **{f"{kind}_passes": made.count(kind) for kind in ("micro", "defrag", "batch", "prune")},
        "failed_passes": sum(Outcome(one.outcome).is_failure for one in passes),
    }


def versions_of(session):
    return [
        (one.number, one.kind, one.text, one.tokens, one.compaction_pass.number)
        for one in SummaryRevision.objects.filter(session=session).select_related("compaction_pass").order_by("number")
    ]


def test_each_pass_of_an_export_comes_back_with_all_the_figures_it_holds(failing, counter, tmp_path):
    """Calls that failed, an exchange that was skipped and a defrag without gain changed no row, and were lost."""
    assert set(COMPARED) | NOT_COMPARED == set(PassShape.model_fields)
    before = passes_of(failing)
    for ending in ("json", "jsonl"):
        project = services.create_project(f"copy-{ending}", "Copy")
        path = written(failing, tmp_path / f"export.{ending}", ending)
        copy, outcome = brought_in(path, project, counter)
        assert passes_of(copy) == before
        assert sum(not one["committed"] for one in before) == 8
        assert any(one["occupancy_pct"] for one in before) and any(one["exchange_tokens"] for one in before)
        assert counters_of(copy) == recounted(copy) == counters_of(failing)
        assert versions_of(copy) == versions_of(failing)
        assert outcome.report.problems == []
        again, outcome = brought_in(path, project, counter)
        assert (again, outcome.sessions[0].passes_added) == (copy, 0)
        assert outcome.sessions[0].passes_present == len(before)
        assert passes_of(again) == before and counters_of(again) == recounted(again)


def test_the_replay_says_that_a_redacted_export_does_not_hold_the_plan(failing, counter, tmp_path):
    project = services.create_project("copy", "Copy")
    path = written(failing, tmp_path / "export.json", "json", is_redacted=True)
    copy, _ = brought_in(path, project, counter)
    person = User.objects.create_user("olga")
    services.add_member(project, person, MemberRole.EDITOR)
    client = Client()
    client.force_login(person)
    failed = copy.passes.filter(outcome="summarize_failed").first()
    pages = [client.get(f"/s/{copy.public_id}/replay/{failed.number}/{step}/") for step in (1, 2, 3, 4)]
    assert [page.status_code for page in pages] == [200] * 4
    text = " ".join(page.content.decode() for page in pages)
    assert "not how it divided the rows" in text and "not the text that was sent" in text
    assert "The program that made this pass" not in text and "made by another program" not in text


def test_of_a_changed_export_an_undone_pass_and_one_without_sense_are_named_in_the_report(
    rows, project, counter, tmp_path
):
    rows.turns(8)
    live = rows.live()
    rows.absorb([row.pk for row in live[5:8]], text="to be undone")
    services.undo_last_pass(rows.session_id)
    record = PassRecord(PassKind.MICRO, Outcome.SUMMARIZE_FAILED, reason="timeout", edit=Edit())
    rows.commit(record.edit, record)
    path = written(rows.session, tmp_path / "export.json", "json")
    told = json.loads(path.read_text())
    odd = {**told["passes"][-1], "number": 3, "outcome": "sung", "occupancy_pct": 10**400}
    wrong = {**told["passes"][-1], "number": 4, "occupancy_pct": "much", "turn": -1, "notes": 7}
    told["passes"] += [odd, wrong]
    path.write_text(json.dumps(told))
    copy, outcome = brought_in(path, project, counter)
    assert [(one.kind.value, one.detail.partition(":")[0]) for one in outcome.report.problems] == [
        ("undone_pass", "pass 1"),
        ("unknown_type", "pass 3"),
    ]
    assert list(copy.passes.order_by("number").values_list("outcome", "reason", "occupancy_pct")) == [
        ("summarize_failed", "timeout", None)
    ] * 2
    assert counters_of(copy) == recounted(copy)
