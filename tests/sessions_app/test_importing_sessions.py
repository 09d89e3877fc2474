import threading

import pytest
from django.db import connection
from row_builder import COUNTER, passes_out_of_place
from source_builder import TurnEnded, recorded, rewound, row, source, summary, tool_call

from compaction.formats.events import PassRecorded, Rewrite, SourceRow
from compaction.messages import Message, Role, RowKind
from sessions_app.importing import chunks, import_session
from sessions_app.importing.linking import link_parents
from sessions_app.importing.places import places_from, places_in_gap
from sessions_app.models import CompactionPass, MessageRow, Session, SessionEvent, SummaryRevision, Turn
from sessions_app.queries.moments import live_rows, rows_as_of
from sessions_app.queries.totals import counted, recounted

pytestmark = pytest.mark.django_db


@pytest.fixture
def bring_in(project):
    def bring(*events, **more):
        outcome = import_session(project, source(*events, **more), COUNTER)
        session = Session.objects.get(public_id=outcome.public_id)
        assert counted(session) == recounted(session.pk)
        assert passes_out_of_place(session.pk) == []
        return outcome, session

    return bring


def live_ids(session):
    return [row.foreign_id for row in live_rows(session.pk)]


def everything(session):
    tables = (MessageRow, CompactionPass, SessionEvent, SummaryRevision, Turn)
    return [list(table.objects.filter(session_id=session.pk).order_by("pk").values()) for table in tables]


def test_rows_get_positions_events_and_turns_in_the_order_of_the_source(bring_in):
    outcome, session = bring_in(
        row("sys", "system"), row("a", at=100.0), row("b", "assistant", at=101.5), row("c"), row("d", "assistant")
    )
    assert (outcome.rows_added, outcome.rows_present, outcome.is_new) == (5, 0, True)
    stored = MessageRow.objects.filter(session=session).order_by("position")
    assert [(one.position, one.born_seq, one.foreign_id, one.turn) for one in stored] == [
        (0, 1, "sys", None),
        (1, 2, "a", 1),
        (2, 3, "b", 1),
        (3, 4, "c", 2),
        (4, 5, "d", 2),
    ]
    events = SessionEvent.objects.filter(session=session).order_by("seq")
    assert [event.live_rows for event in events] == [1, 2, 3, 4, 5]
    assert [event.live_tokens for event in events][-1] == session.live_tokens
    assert [turn.is_finished for turn in Turn.objects.filter(session=session)] == [True, True]
    assert session.last_activity_at.timestamp() == 101.5
    assert session.listed_at == session.last_activity_at


def test_a_second_identical_import_adds_nothing(bring_in):
    events = (
        row("a"),
        row("b", "assistant"),
        row("c"),
        recorded(["a", "b"], "s"),
        row("d", "assistant"),
        rewound("d"),
        TurnEnded(),
    )
    _, session = bring_in(*events)
    before, facts = everything(session), Session.objects.filter(pk=session.pk).values().get()
    outcome, _ = bring_in(*events)
    assert (outcome.rows_added, outcome.rows_present, outcome.passes_added, outcome.passes_present) == (0, 4, 0, 1)
    assert not outcome.has_changed
    assert everything(session) == before
    assert Session.objects.filter(pk=session.pk).values().get() == facts


def test_a_source_that_grew_goes_on_where_it_stopped(bring_in):
    first = (row("a"), row("b", "assistant"))
    _, session = bring_in(*first)
    later = (row("c"), row("d", "assistant"), recorded(["b"], "s"), rewound("d"), row("e", "assistant"))
    outcome, session = bring_in(*first, *later)
    assert (outcome.rows_added, outcome.rows_present, outcome.passes_added, outcome.rows_rewound) == (3, 2, 1, 1)
    assert live_ids(session) == ["a", "s", "c", "e"]
    assert session.turns_total == 2
    assert session.rewound_rows == 1
    _, fresh = bring_in(*first, *later, foreign_id="at once")
    columns = ("position", "born_seq", "died_seq", "foreign_id", "turn", "kind")
    assert list(MessageRow.objects.filter(session=session).order_by("position", "born_seq").values(*columns)) == list(
        MessageRow.objects.filter(session=fresh).order_by("position", "born_seq").values(*columns)
    )


def test_a_recorded_pass_archives_what_it_names_and_tells_what_the_source_recorded(bring_in):
    events = [row("a"), row("b", "assistant"), row("c"), row("d", "assistant"), row("e")]
    done = recorded(["a", "b", "c"], "s", tokens_before=155_000, trigger="auto", at=50.0, model="small")
    outcome, session = bring_in(*events, done, row("f", "assistant"))
    stored = CompactionPass.objects.get(session=session)
    assert (stored.origin, stored.kind, stored.outcome, stored.committed) == ("imported", "batch", "compacted", True)
    assert (stored.tokens_before, stored.tokens_after, stored.trigger, stored.aux_model) == (
        155_000,
        None,
        "auto",
        "small",
    )
    assert (stored.rows_before, stored.rows_after, stored.prompt_user) == (5, 3, None)
    assert stored.counted_tokens_after < stored.counted_tokens_before
    assert live_ids(session) == ["s", "d", "e", "f"]
    assert live_rows(session.pk)[0].position == 0
    assert [one.message.text for one in rows_as_of(session.pk, stored.seq - 1)] == ["a", "b", "c", "d", "e"]
    version = SummaryRevision.objects.get(session=session)
    assert (version.text, version.compaction_pass_id, version.kind) == ("summary s", stored.pk, "batch")
    assert outcome.rows_archived == session.archived_rows == 3


def test_a_later_pass_supersedes_the_summary_of_an_earlier_one(bring_in):
    _, session = bring_in(
        row("a"), row("b", "assistant"), recorded(["a"], "s1"), row("c"), recorded(["s1", "b"], "s2"), row("d")
    )
    first, second = CompactionPass.objects.filter(session=session).order_by("number")
    versions = SummaryRevision.objects.filter(session=session).order_by("number")
    assert [one.superseded_by_id for one in versions] == [second.pk, None]
    assert first.edit["superseded"] == []
    assert len(second.edit["superseded"]) == len(second.edit["archived"]) == 1
    assert live_ids(session) == ["s2", "c", "d"]


def test_a_new_micro_summary_supersedes_the_old_one_though_the_source_does_not_say_so(bring_in):
    micro = RowKind.MICRO_SUMMARY
    _, session = bring_in(
        row("a"),
        row("b", "assistant"),
        recorded(["b"], "s1", micro),
        row("c"),
        row("d", "assistant"),
        recorded(["d"], "s2", micro),
    )
    assert live_ids(session) == ["a", "c", "s2"]


def test_a_summary_stands_in_front_of_the_row_the_source_names(bring_in):
    events = [row(name, "assistant" if name in "bdf" else "user") for name in "abcdef"]
    _, session = bring_in(*events, recorded(["a", "c", "d"], "s", before="e"))
    assert live_ids(session) == ["b", "s", "e", "f"]


def test_a_summary_of_rows_the_source_does_not_hold_stands_at_the_end_of_what_it_has(bring_in):
    _, session = bring_in(row("a", "system"), recorded([], "s"), row("b"))
    assert live_ids(session) == ["a", "s", "b"]
    assert [one.position for one in live_rows(session.pk)] == [0, 1, 2]


def test_a_pruned_result_stands_in_its_originals_place_and_names_it(bring_in):
    stub = SourceRow("r2", Message(Role.TOOL, "[gone]", tool_call_id="c"), kind=RowKind.PRUNE_STUB)
    _, session = bring_in(
        row("a"),
        tool_call("b", "c"),
        row("r", "tool", "long"),
        row("d", "assistant"),
        PassRecorded(RowKind.PRUNE_STUB, (), rewritten=(Rewrite("r", stub),)),
    )
    assert live_ids(session) == ["a", "b", "r2", "d"]
    pruned = live_rows(session.pk)[2]
    assert (pruned.position, pruned.replaces.foreign_id, pruned.kind) == (2, "r", "prune_stub")
    assert (session.prune_passes, session.batch_passes) == (1, 0)
    assert not SummaryRevision.objects.exists()


def test_a_hidden_summary_is_a_version_without_text(bring_in):
    _, session = bring_in(row("a"), row("b"), PassRecorded(RowKind.BATCH_SUMMARY, ("a",), opaque=True))
    version = SummaryRevision.objects.get(session=session)
    assert (version.text, version.tokens, version.row) == (None, None, None)
    assert CompactionPass.objects.get(session=session).is_opaque
    assert live_ids(session) == ["b"]


def test_rows_a_pass_names_that_were_never_seen_are_counted_and_told(bring_in):
    outcome, session = bring_in(row("a"), row("b"), recorded(["lost", "a"], "s", line=7))
    assert CompactionPass.objects.get(session=session).unknown_archived == 1
    assert [(problem.line, problem.skipped) for problem in outcome.problems] == [(7, False)]
    assert live_ids(session) == ["s", "b"]


def test_rows_a_pass_archived_leave_the_live_context_when_a_fuller_source_brings_them(bring_in):
    bring_in(row("a"), recorded([], "s"), row("d"))
    whole = (row("a"), row("b"), row("c"), recorded(["b", "c"], "s"), row("d"))
    outcome, session = bring_in(*whole)
    assert (outcome.rows_added, outcome.passes_present, outcome.rows_archived) == (2, 1, 2)
    assert live_ids(session) == ["a", "s", "d"]
    assert CompactionPass.objects.get(session=session).archived_rows.count() == 2
    before = everything(session)
    bring_in(*whole)
    assert everything(session) == before


def test_a_rewind_leaves_rows_alone_that_a_pass_archived(bring_in):
    outcome, session = bring_in(row("a"), row("b"), row("c"), recorded(["a"], "s"), rewound("a", "c"))
    assert outcome.rows_rewound == 1
    assert (session.archived_rows, session.rewound_rows) == (1, 1)
    assert live_ids(session) == ["s", "b"]


def test_the_source_says_where_turns_end(bring_in):
    _, session = bring_in(
        row("a"), row("b", "assistant"), TurnEnded(at=9.0), row("c"), row("d", "assistant"), TurnEnded(interrupted=True)
    )
    turns = Turn.objects.filter(session=session).order_by("number")
    assert [(one.is_finished, one.interrupted, one.ended_at and one.ended_at.timestamp()) for one in turns] == [
        (True, False, 9.0),
        (False, True, None),
    ]


def test_nothing_depends_on_how_rows_are_chunked(bring_in, monkeypatch):
    events = [row(f"r{n}", "user" if n % 3 == 0 else "assistant") for n in range(40)]
    events = [*events, TurnEnded(interrupted=True), recorded([f"r{n}" for n in range(5, 20)], "s")]
    _, whole = bring_in(*events, foreign_id="whole")
    monkeypatch.setattr(chunks, "MAX_ROWS", 1)
    _, single = bring_in(*events, foreign_id="single")
    for table, columns in (
        (MessageRow, ("position", "born_seq", "died_seq", "foreign_id", "turn", "tokens")),
        (Turn, ("number", "first_position", "last_position", "is_finished", "interrupted")),
        (SessionEvent, ("seq", "kind", "live_tokens", "live_rows")),
    ):
        assert list(table.objects.filter(session=whole).order_by("pk").values(*columns)) == list(
            table.objects.filter(session=single).order_by("pk").values(*columns)
        )


def test_a_repeated_id_within_one_source_is_one_row(bring_in):
    outcome, session = bring_in(row("a"), row("a"), row("b"))
    assert (outcome.rows_added, outcome.rows_present) == (2, 1)
    assert live_ids(session) == ["a", "b"]


def test_values_no_column_can_hold_do_not_stop_the_import(bring_in):
    outcome, session = bring_in(
        row("x" * 5_000, at=float("nan"), input_tokens=-4, output_tokens=10**30, model="m\x00"),
        row("b", "assistant", at=1e30),
        title="half \ud835",
        window_tokens=10**12,
        extras='{"k": "\\u0000"}',
    )
    first = live_rows(session.pk)[0]
    assert outcome.rows_added == 2
    assert (first.at, first.input_tokens, first.output_tokens, first.model) == (None, None, None, "m\ufffd")
    assert (session.title, session.window_tokens, session.extras) == ("half \ufffd", None, {"k": "\ufffd"})
    again, _ = bring_in(row("x" * 5_000), row("b", "assistant"))
    assert again.rows_present == 2


def test_when_reading_fails_half_way_nothing_of_the_session_is_stored(project):
    def events():
        yield row("a")
        raise OSError("the disk is gone")

    broken = source()
    broken = type(broken)("s1", "test-format", events)
    with pytest.raises(OSError, match="gone"):
        import_session(project, broken, COUNTER)
    assert not Session.objects.exists()


def test_children_find_their_parents_in_whatever_order_they_come(bring_in, project):
    _, child = bring_in(
        row("x"), foreign_id="child", parent_foreign_id="root", parent_link="subagent", parent_call_id="c1"
    )
    assert link_parents(project) == 0
    _, root = bring_in(row("a"), tool_call("b", "c1"), foreign_id="root", parent_foreign_id="root")
    assert link_parents(project) == 1
    child.refresh_from_db()
    root.refresh_from_db()
    assert (child.parent_id, child.parent_row.foreign_id) == (root.pk, "b")
    assert root.parent_id is None


def test_s09_after_a_restart_rows_go_on_from_what_is_stored(bring_in):
    ten = [row(f"r{n}", ("user", "assistant", "tool")[n % 3]) for n in range(10)]
    bring_in(*ten)
    five = [row(f"t{n}", "tool") for n in range(5)]
    _, session = bring_in(*ten, *five)
    by_role = [MessageRow.objects.filter(session=session, role=role).count() for role in ("user", "assistant", "tool")]
    assert by_role == [4, 3, 8]


@pytest.mark.django_db(transaction=True)
def test_the_same_source_imported_twice_at_once_is_one_session(project):
    start, outcomes = threading.Barrier(2), []
    events = [row(f"r{n}", "user" if n % 2 else "assistant") for n in range(50)]

    def bring():
        try:
            start.wait()
            outcomes.append(import_session(project, source(*events, recorded(["r1"], "s")), COUNTER))
        finally:
            connection.close()

    threads = [threading.Thread(target=bring) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((one.rows_added, one.rows_present, one.passes_added) for one in outcomes) == [(0, 50, 0), (50, 0, 1)]
    session = Session.objects.get()
    assert counted(session) == recounted(session.pk)


@pytest.mark.parametrize(
    ("freed", "below", "above", "wanted", "places"),
    [
        ([2, 3], 1, 5, 1, [2]),
        ([0, 2, 3], 1, 5, 2, [2, 3]),
        ([9], 1, 5, 1, [4]),
        ([], 4, 5, 1, None),
        ([], None, 0, 2, [-2, -1]),
    ],
)
def test_a_summary_takes_a_freed_place_in_its_gap(freed, below, above, wanted, places):
    assert places_in_gap(freed, below, above, wanted) == places


def test_several_summaries_take_freed_places_from_the_first_on():
    assert places_from([1, 4, 6], 4, 2) == [4, 6]
    assert places_from([1, 4, 6], 6, 2) is None


def test_several_inserted_rows_keep_their_order(bring_in):
    done = PassRecorded(RowKind.BATCH_SUMMARY, ("a", "b", "c"), (summary("s1"), summary("s2")))
    _, session = bring_in(row("a"), row("b"), row("c"), row("d"), done)
    assert live_ids(session) == ["s1", "s2", "d"]


def test_a_session_without_a_title_is_called_by_its_first_request(bring_in):
    long = "please " * 40
    injected = row("hook", text="injected", by_person=False)
    _, session = bring_in(row("sys", "system"), injected, row("a", text=f"\n{long}"))
    assert session.title.startswith("please please")
    assert len(session.title) == 80
    _, again = bring_in(row("sys", "system"), row("b", text="another request"), title="Given")
    assert again.title == "Given"
