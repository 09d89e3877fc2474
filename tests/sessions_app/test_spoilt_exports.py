"""An unredacted export that lost a record, or holds one that makes no sense, is no original: none of it is trusted."""

import json

import pytest
from row_builder import COUNTER, assistant, user
from test_restored_exports import assert_same, export, take_in, told_rest

from compaction.formats.source_file import SourceFile
from compaction.summarizer import Reply, Usage
from compaction.wording import Wording
from sessions_app import clock, services
from sessions_app.importing.files import import_file
from sessions_app.models import CallPurpose, Session
from sessions_app.queries.totals import counted, recounted
from sessions_app.services import CallMade

pytestmark = pytest.mark.django_db


def spoilt(path, change):
    """The export with one record changed; `change` gets all records."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    change(records)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def first(records, kind, having=lambda record: True):
    return next(record for record in records if record["record"] == kind and having(record))


def state_with(**figures):
    return lambda found: found[0]["session"]["stored"]["state"].update(figures)


SPOILERS = {
    "a lost row": lambda found: found.remove(first(found, "row")),
    "a lost event": lambda found: found.remove(first(found, "event")),
    "no end": lambda found: found.pop(),
    "an unknown outcome": lambda found: first(found, "pass").update(outcome="sung"),
    "an edit of nobody's row": lambda found: first(found, "pass", lambda one: one["committed"])["stored"][
        "edit"
    ].update(archived=[10**12]),
    "odd zones": lambda found: first(found, "pass")["stored"].update(zones={"head_end": "here"}),
    "an odd state": lambda found: found[0]["session"]["stored"].update(state={"cursor": 3}),
    "a figure too large": lambda found: first(found, "row").update(tokens=2**40),
    "a pass of nobody": lambda found: first(found, "row").update(made_by_pass=999),
    "two lives at one place": lambda found: first(found, "row", lambda one: one["died_seq"]).update(
        died_seq=None, archived_by_pass=None
    ),
    "a row twice": lambda found: found.insert(2, dict(first(found, "row"))),
    "a death before birth": lambda found: first(found, "row", lambda one: one["died_seq"]).update(died_seq=1),
    "a time that no clock in London shows": lambda found: found[0]["session"].update(
        last_activity_at="0001-01-01T00:00:00+14:00"
    ),
    "a time that only some clocks show": lambda found: found[0]["session"].update(
        last_activity_at="9999-12-31T23:30:00+00:00"
    ),
    "a pause without end": state_with(paused_until=1e300),
    "a cooldown before all times": state_with(cooldown_until=-1e15),
    "a batch at no time": state_with(batch_committed_at=[1e300]),
    "failures below none": state_with(batch_failures=-1),
    "a next place before the last one": lambda found: found[0]["session"]["stored"].update(next_position=3),
    "a next place far behind": lambda found: found[0]["session"]["stored"].update(next_position=2**60),
    "a reset that never was": lambda found: found[0]["session"]["stored"].update(reset_seq=10**6),
    "a revision without room": lambda found: found[0]["session"]["stored"].update(compaction_revision=2**31 - 1),
    "more turns than rows": lambda found: found[0]["session"].update(turns=10**6),
    "a birth after all events": lambda found: first(found, "row", lambda one: not one["died_seq"]).update(
        born_seq=10**6
    ),
    "a death after all events": lambda found: first(found, "row", lambda one: one["died_seq"]).update(died_seq=10**6),
    "a pass that took less than no time": lambda found: first(found, "pass").update(duration_ms=-5),
    "a pass that left less than nothing": lambda found: first(found, "pass").update(tokens_after=-5),
    "a number left out": lambda found: first(found, "pass", lambda one: one["number"] == 1).update(number=7),
    "a call that was paid to us": lambda found: first(found, "call").update(cost_usd="-1"),
    "two rows of one name": lambda found: [
        one.update(client_id="same") for one in found if one["record"] == "row" and one["position"] in (2, 3)
    ],
    "no kind": lambda found: first(found, "event").update(kind="party"),
}


@pytest.mark.parametrize("name", SPOILERS)
def test_an_export_that_does_not_hold_together_is_read_as_a_plain_transcript_and_says_so(
    rows, elsewhere, tmp_path, name
):
    rows.turns(6)
    rows.absorb([row.pk for row in rows.live()[5:8]], text="first")
    call_made = CallMade(CallPurpose.MAIN, clock.now(), Reply(usage=Usage(30, 7)))
    services.record_calls(rows.session_id, [call_made])
    path = spoilt(export(rows.session, tmp_path / "one.jsonl"), SPOILERS[name])
    outcome = import_file(SourceFile(path), elsewhere, COUNTER)
    assert outcome.error == ""
    copy = Session.objects.get(public_id=outcome.sessions[0].public_id)
    assert "restored_seq" not in copy.extras
    assert copy.live_rows > 15
    assert counted(copy) == recounted(copy.pk)
    is_incomplete = name in ("a lost row", "a lost event", "no end", "a row twice")
    told = outcome.report.problems if is_incomplete else outcome.sessions[0].problems
    words = "records of the export are missing" if is_incomplete else "does not hold together"
    assert isinstance(told[0].detail, Wording) and words in told[0].detail


def test_two_rows_of_one_name_never_become_one_stored_row(rows, elsewhere, tmp_path):
    rows.turns(6)
    copy, _ = take_in(export(rows.session, tmp_path / "one.jsonl"), elsewhere)
    before = told_rest(copy)
    rows.append(user("later"))

    def name_alike(found):
        known = first(found, "row", lambda one: one["position"] == 2)
        first(found, "row", lambda one: one["position"] == 3).update(
            client_id=known["client_id"] or f"row-{known['id']}"
        )

    _, outcome = take_in(spoilt(export(rows.session, tmp_path / "two.jsonl"), name_alike), elsewhere)
    assert "not their own" in outcome.problems[0].detail
    copy.refresh_from_db()
    assert told_rest(copy) == before


def test_a_birth_of_a_stored_row_is_held_against_the_events_too(rows, elsewhere, tmp_path):
    rows.turns(6)
    copy, _ = take_in(export(rows.session, tmp_path / "one.jsonl"), elsewhere)
    rows.append(user("later"))
    late = spoilt(export(rows.session, tmp_path / "two.jsonl"), SPOILERS["a birth after all events"])
    _, outcome = take_in(late, elsewhere)
    assert "lives at no event" in outcome.problems[0].detail
    assert not outcome.has_changed


def test_saved_tokens_may_be_fewer_than_none(rows, elsewhere, tmp_path):
    rows.turns(6)
    rows.absorb([row.pk for row in rows.live()[5:8]], text="first")
    path = spoilt(export(rows.session, tmp_path / "one.jsonl"), state_with(tokens_saved_total=-40))
    copy, outcome = take_in(path, elsewhere)
    assert outcome.problems == [] and copy.state["tokens_saved_total"] == -40


def test_an_export_that_was_cut_off_changes_nothing_of_a_copy_that_a_whole_one_made(rows, elsewhere, tmp_path):
    rows.turns(6)
    rows.absorb([row.pk for row in rows.live()[5:8]], text="first")
    copy, _ = take_in(export(rows.session, tmp_path / "whole.jsonl"), elsewhere)
    rows.append(user("later"), assistant("yes"))
    late = export(rows.session, tmp_path / "late.jsonl")
    cut_off = spoilt(export(rows.session, tmp_path / "cut.jsonl"), SPOILERS["no end"])
    outcome = import_file(SourceFile(cut_off), elsewhere, COUNTER)
    assert outcome.error == "" and not outcome.sessions[0].has_changed
    assert "records of the export are missing" in outcome.report.problems[-1].detail
    told = outcome.sessions[0].problems[-1].detail
    assert isinstance(told, Wording) and "only a whole export" in told
    again, _ = take_in(late, elsewhere)
    assert again == copy
    assert_same(again, rows.session)


def test_an_export_that_makes_no_sense_changes_nothing_of_a_copy_that_a_whole_one_made(rows, elsewhere, tmp_path):
    rows.turns(6)
    rows.absorb([row.pk for row in rows.live()[5:8]], text="first")
    copy, _ = take_in(export(rows.session, tmp_path / "whole.jsonl"), elsewhere)
    before = told_rest(copy)
    rows.append(user("later"), assistant("yes"))
    for number, spoil in enumerate((SPOILERS["an unknown outcome"], SPOILERS["a lost event"], SPOILERS["a lost row"])):
        take_in(spoilt(export(rows.session, tmp_path / f"{number}.jsonl"), spoil), elsewhere)
        copy.refresh_from_db()
        assert told_rest(copy) == before
    again, outcome = take_in(export(rows.session, tmp_path / "late.jsonl"), elsewhere)
    assert outcome.problems == []
    assert_same(again, rows.session)


def test_a_copy_that_somebody_changed_is_left_alone_and_the_report_says_why(rows, elsewhere, tmp_path):
    rows.turns(6)
    copy, _ = take_in(export(rows.session, tmp_path / "early.jsonl"), elsewhere)
    services.reset_session(copy.pk)
    rows.append(user("later"))
    again, outcome = take_in(export(rows.session, tmp_path / "late.jsonl"), elsewhere)
    assert again == copy and not outcome.has_changed
    assert [problem.detail for problem in outcome.problems] == [
        "this copy has been changed since it was restored; nothing was taken over"
    ]
