"""An unredacted export that is imported again is the session it was made of, at every event."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from row_builder import COUNTER, NewMessage, RowBuilder, assistant, user
from talk import EARLY_MICRO_PASSES, SUMMARY, Talk, with_settings
from test_laws_of_storage import STEPS, Model

from compaction.edits import Edit, NewRow
from compaction.formats.source_file import SourceFile
from compaction.messages import ImagePart, Message, OtherPart, Role, RowKind, TextPart, ToolCall
from compaction.model_view import model_view
from compaction.records import Outcome, PassKind, PassRecord
from compaction.scripted import ScriptedSummarizer
from compaction.summarizer import Reply, Usage
from compaction.wire import message_from_openai, message_to_openai
from sessions_app import clock, services
from sessions_app.exporting.formats import ExportFormat, export_pieces
from sessions_app.importing import restoring
from sessions_app.importing.files import import_file
from sessions_app.importing.restoring import in_chunks
from sessions_app.mapping import state_of
from sessions_app.models import (
    CallPurpose,
    CompactionPass,
    MemberRole,
    MessageRow,
    ModelCall,
    RowLifetime,
    Session,
    SessionEvent,
    SummaryRevision,
    Turn,
    TurnStep,
)
from sessions_app.passes.passing import Passing
from sessions_app.passes.retrying import run_pass_patiently
from sessions_app.queries.moments import rows_as_of
from sessions_app.queries.prompts import prompts_of
from sessions_app.queries.totals import counted, recounted
from sessions_app.services import CallMade
from sessions_app.services.prompts import note_prompt
from sessions_app.stored_columns import columns_of

pytestmark = pytest.mark.django_db
ENDINGS = ("json", "jsonl")


def export(session, path, *, is_redacted=False):
    pieces = export_pieces(Session.objects.get(pk=session.pk), ExportFormat(path.suffix[1:]), is_redacted=is_redacted)
    path.write_bytes(b"".join(pieces))
    return path


def take_in(path, project):
    outcome = import_file(SourceFile(path), project, COUNTER)
    assert outcome.error == ""
    return Session.objects.get(public_id=outcome.sessions[0].public_id), outcome.sessions[0]


def prune(rows):
    long = next(row for row in rows.live() if row.role == "tool")
    message = Message(Role.TOOL, "[pruned]", tool_call_id=long.tool_call_id)
    edit = Edit((long.pk,), (), (NewRow(RowKind.PRUNE_STUB, long.position, message, 2, replaces=long.pk),))
    record = PassRecord(PassKind.PRUNE, Outcome.PRUNED, edit=edit)
    rows.commit(edit, record, state=state_of(rows.session.state))


@pytest.fixture
def past(project, rows):
    """A session of the engine's own passes: micro, defrag, batch and prune, failed ones, an undo, a reset."""
    with_settings(project, EARLY_MICRO_PASSES)
    Session.objects.filter(pk=rows.session_id).update(window_tokens=8_000, model="main")
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")))
    talk = Talk(rows, SUMMARY, Reply(error="timeout"), Reply(text="## Key Decisions\n- more", finish_reason="stop"))
    talk.turns(8)
    services.undo_last_pass(rows.session_id)
    services.resume_passes(rows.session_id)
    talk.turns(3, first=8)
    summarizer = ScriptedSummarizer([SUMMARY], model="small")
    run_pass_patiently(rows.session_id, TurnStep.BATCH, Passing(summarizer, COUNTER))
    talk.turns(3, first=11)
    prune(rows)
    call_made = CallMade(CallPurpose.MAIN, clock.now(), Reply(usage=Usage(30, 7)))
    services.record_calls(rows.session_id, [call_made])
    prompt = '{"role": "system", "content": "be kind"}'
    note_prompt(rows.session_id, [prompt], "", "d" * 32, 12, "main")
    services.note_failure(rows.session_id, "something failed")
    services.reset_session(rows.session_id)
    talk.turns(6, first=14)
    return rows.session


def moment(session, seq):
    """What there was right after an event, without ids."""
    return [(row.position, row.kind, row.message, row.tokens, row.by_person) for row in rows_as_of(session.pk, seq)]


def assert_same_at_every_event(one, other):
    assert one.last_seq == other.last_seq > 0
    for seq in range(other.last_seq + 1):
        assert moment(one, seq) == moment(other, seq), f"event {seq}"
        views = [model_view(rows_as_of(session.pk, seq)).messages for session in (one, other)]
        assert views[0] == views[1]


class Places:
    """Ids of a session's rows as their numbers in the order of birth, and keys as how many rows stand in front."""

    def __init__(self, session):
        rows = list(MessageRow.objects.filter(session=session).values_list("position", "id"))
        self._keys = sorted(rows)
        self._numbers = {row_id: number for number, row_id in enumerate(sorted(row_id for _, row_id in rows))}

    def row(self, row_id):
        return None if row_id is None else self._numbers[row_id]

    def key(self, position, row_id):
        return None if position is None else (position, sum(key < (position, row_id) for key in self._keys))

    def keys_in(self, value):
        """JSON data with each [position, id] replaced."""
        if isinstance(value, dict):
            return {name: self.keys_in(inner) for name, inner in value.items()}
        if isinstance(value, list) and len(value) == 2 and all(type(one) is int for one in value):
            return self.key(*value)
        return [self.keys_in(inner) for inner in value] if isinstance(value, list) else value

    def edit(self, edit):
        return edit and {
            "archived": [self.row(one) for one in edit["archived"]],
            "superseded": [self.row(one) for one in edit["superseded"]],
            "inserted": [
                {**one, "id": self.row(one["id"]), "replaces": self.row(one["replaces"])} for one in edit["inserted"]
            ],
        }


def told_passes(session):
    places = Places(session)
    found = []
    for one in CompactionPass.objects.filter(session=session).order_by("number"):
        columns = columns_of(one)
        for name in ("cursor_before", "cursor_after", "place"):
            columns[name] = places.key(columns.pop(f"{name}_position"), columns.pop(f"{name}_id"))
        for name in ("zones", "exchanges", "state_before"):
            columns[name] = places.keys_in(columns[name])
        columns["edit"] = places.edit(columns["edit"])
        for name in ("made_by", "archived_by"):
            rows = MessageRow.objects.filter(session=session, **{name: one})
            columns[name] = sorted(places.row(row.pk) for row in rows)
        found.append(columns)
    return found


def told_rest(session):
    places = Places(session)
    versions = SummaryRevision.objects.filter(session=session).select_related("compaction_pass", "superseded_by")
    lives = RowLifetime.objects.filter(session=session).select_related("archived_by")
    events = SessionEvent.objects.filter(session=session).select_related("compaction_pass").order_by("seq")
    number = lambda one: None if one is None else one.number  # noqa: E731
    return {
        "summaries": [
            (columns_of(one), one.compaction_pass.number, number(one.superseded_by), places.row(one.row_id))
            for one in versions.order_by("number")
        ],
        "lives": sorted((places.row(one.row_id), one.born_seq, one.died_seq, number(one.archived_by)) for one in lives),
        "events": [(columns_of(one), number(one.compaction_pass)) for one in events],
        "turns": [
            {**columns_of(one), "step_done": 0, "ended_at": None}
            for one in Turn.objects.filter(session=session).order_by("number")
        ],
        "prompts": [columns_of(one) for one in prompts_of(session.pk)],
        "calls": [(columns_of(one), number(one.compaction_pass)) for one in ModelCall.objects.filter(session=session)],
        "counters": counted(session),
        "state": places.keys_in(session.state),
        "facts": [
            getattr(session, name)
            for name in (
                *("title", "model", "window_tokens", "fixed_overhead_tokens", "threshold_tokens", "threshold_source"),
                *("reset_seq", "is_held", "last_error", "turns_total", "passes_total", "micro_passes", "batch_passes"),
                *("defrag_passes", "prune_passes", "failed_passes", "compaction_revision", "next_position"),
            )
        ],
    }


def assert_same(copy, original):
    copy.refresh_from_db()
    original.refresh_from_db()
    assert_same_at_every_event(copy, original)
    assert told_passes(copy) == told_passes(original)
    ours, theirs = told_rest(copy), told_rest(original)
    for name, value in theirs.items():
        assert ours[name] == value, name
    assert counted(copy) == recounted(copy.pk)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_session_with_every_kind_of_pass_comes_back_as_it_was(past, elsewhere, tmp_path, ending):
    kinds = set(CompactionPass.objects.filter(session=past).values_list("kind", flat=True))
    assert kinds >= {"micro", "batch", "prune"}
    assert CompactionPass.objects.filter(session=past, undone_seq__isnull=False).count() == 1
    assert CompactionPass.objects.filter(session=past, committed=False).exists()
    copy, outcome = take_in(export(past, tmp_path / f"one.{ending}"), elsewhere)
    assert outcome.problems == []
    assert (copy.source, copy.project) == ("sessions-export", elsewhere)
    assert_same(copy, past)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(STEPS), min_size=4, max_size=16))
def test_whatever_happened_to_a_session_its_export_tells_it(tmp_path_factory, project, elsewhere, steps):
    session = services.create_session(project, window_tokens=200_000)
    model = Model(session.pk)
    for number, step in enumerate(("append", *steps)):
        model.step(step, number)
    copy, _ = take_in(export(session, tmp_path_factory.mktemp("out") / "one.jsonl"), elsewhere)
    assert_same(copy, session)


def test_a_branch_comes_back_too(past, elsewhere, tmp_path):
    branch = services.branch_session(past.pk, past.last_seq // 2)
    talk = Talk(RowBuilder(branch.pk))
    talk.turns(4, first=30)
    copy, _ = take_in(export(branch, tmp_path / "branch.jsonl"), elsewhere)
    assert_same(copy, Session.objects.get(pk=branch.pk))


def test_what_the_wire_can_not_say_of_a_message_comes_back_as_well(rows, elsewhere, tmp_path):
    odd = Message(
        Role.ASSISTANT,
        (
            TextPart("look"),
            ImagePart('{"type": "image_url", "image_url": {"url": "data:,x"}}'),
            OtherPart("odd", '{"a":1}'),
        ),
        (ToolCall("c1", "look", "not json", aliases=("x", "y"), extras='{"k": 1}'), ToolCall(None, "", "")),
        reasoning="thought",
        name="bob",
        extras='{"custom": true}',
    )
    rows.append(
        user("hello \U0001f600 \u2028 line"), NewMessage(odd), NewMessage(Message(Role.TOOL, None, tool_call_id=""))
    )
    copy, outcome = take_in(export(rows.session, tmp_path / "one.json"), elsewhere)
    assert outcome.problems == []
    assert_same(copy, rows.session)


@pytest.mark.parametrize("odd", [Message(Role.TOOL, "a result of no call"), Message(Role.USER, None)])
def test_what_the_wire_says_oddly_of_a_message_comes_back_as_well(rows, elsewhere, tmp_path, odd):
    problems = []
    assert message_from_openai(message_to_openai(odd), problems.append) == odd and problems
    rows.append(user("hello"), NewMessage(odd))
    copy, outcome = take_in(export(rows.session, tmp_path / "one.jsonl"), elsewhere)
    assert outcome.problems == []
    assert_same(copy, rows.session)


def test_a_later_export_brings_the_copy_up_to_date_and_an_earlier_one_changes_nothing(rows, elsewhere, tmp_path):
    rows.turns(6)
    live = [row.pk for row in rows.live()]
    rows.absorb(live[5:8], text="first")
    early = export(rows.session, tmp_path / "early.jsonl")
    copy, _ = take_in(early, elsewhere)
    ids = list(copy.rows.order_by("position", "id").values_list("id", flat=True))
    services.undo_last_pass(rows.session_id)
    rows.absorb(live[1:4], text="second")
    rows.append(user("later"), assistant("yes"))
    again, outcome = take_in(export(rows.session, tmp_path / "late.jsonl"), elsewhere)
    assert again == copy
    assert (outcome.rows_added, outcome.passes_added, outcome.is_new) == (3, 1, False)
    assert_same(again, rows.session)
    assert set(ids) < set(again.rows.values_list("id", flat=True)), "addresses of rows stay"
    for path in (early, tmp_path / "late.jsonl"):
        still, outcome = take_in(path, elsewhere)
        assert not outcome.has_changed
        assert_same(still, rows.session)


def test_every_step_of_every_pass_is_shown_in_the_copy_as_in_the_original(past, project, elsewhere, tmp_path):
    copy, _ = take_in(export(past, tmp_path / "one.jsonl"), elsewhere)
    person = User.objects.create_user("olga")
    for one in (project, elsewhere):
        services.add_member(one, person, MemberRole.OWNER)
    client = Client()
    client.force_login(person)
    for made_by in CompactionPass.objects.filter(session=copy):
        for step in range(1, 9):
            pages = [client.get(f"/s/{one.public_id}/replay/{made_by.number}/{step}/") for one in (past, copy)]
            assert pages[0].status_code == pages[1].status_code
            if pages[0].status_code == 200:
                assert "came back from an export" not in pages[1].content.decode()
    made_by = CompactionPass.objects.filter(session=copy, prompt_user__isnull=False).first()
    pages = [client.get(f"/s/{copy.public_id}/replay/{made_by.number}/{step}/").content.decode() for step in (2, 3, 4)]
    sent = re.search(r"line of c\d+", made_by.prompt_user).group()
    assert sent in "".join(pages)
    assert "the parser stays as it is" in "".join(pages)
    for tab in ("", "summary/", "passes/", "occupancy/", "cache/", "act/"):
        assert client.get(f"/s/{copy.public_id}/{tab}").status_code == 200, tab


def test_a_copy_can_be_exported_and_taken_in_again(past, elsewhere, tmp_path):
    copy, _ = take_in(export(past, tmp_path / "one.jsonl"), elsewhere)
    third = services.create_project("third", "Third")
    again, _ = take_in(export(copy, tmp_path / "two.json"), third)
    assert_same(again, past)


def test_what_is_long_is_never_held_all_at_once(rows, elsewhere, tmp_path, monkeypatch):
    rows.turns(6)
    live = [row.pk for row in rows.live()]
    rows.absorb(live[5:8], text="first")
    services.undo_last_pass(rows.session_id)
    for number in range(5):
        prompt = f'{{"role": "system", "content": "be kind {number}"}}'
        note_prompt(rows.session_id, [prompt], "", f"{number:032}", 12, "main")
    path = export(rows.session, tmp_path / "one.jsonl")
    sizes = []

    def measured(found, size):
        for chunk in in_chunks(found, min(size, 2)):
            sizes.append(len(chunk))
            yield chunk

    monkeypatch.setattr(restoring, "in_chunks", measured)
    copy, outcome = take_in(path, elsewhere)
    assert outcome.problems == [] and max(sizes) == 2
    assert_same(copy, rows.session)


def test_a_list_is_cut_into_chunks_as_it_is_read():
    read = []
    chunks = in_chunks((read.append(number) or number for number in range(5)), 2)
    assert next(chunks) == [0, 1] and read == [0, 1]
    assert list(chunks) == [[2, 3], [4]]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_redacted_export_holds_no_plan_and_is_never_the_original(past, elsewhere, tmp_path, ending):
    original, _ = take_in(export(past, tmp_path / f"one.{ending}"), elsewhere)
    path = export(past, tmp_path / f"two.{ending}", is_redacted=True)
    copy, _ = take_in(path, elsewhere)
    text = path.read_text()
    assert copy != original and copy.source == "redacted-export"
    assert '"stored"' not in text and '"prompt_user"' not in text and '"reply_text"' not in text
    assert "restored_seq" not in copy.extras
