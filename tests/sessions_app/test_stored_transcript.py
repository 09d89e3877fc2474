"""Reading the live rows for a plan costs the same however long the session is."""

from itertools import islice

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from row_builder import COUNTER
from source_builder import row, source, tool_call

from compaction.messages import Row, RowKey
from compaction.micro import MicroPlan, plan_micro
from compaction.pass_context import make_context
from compaction.policy import CompactionPolicy
from compaction.state import CompactionState
from compaction.threshold import Window
from compaction.transcript import ListTranscript
from sessions_app.importing import import_session
from sessions_app.mapping import row_of, state_json
from sessions_app.models import Session
from sessions_app.queries.live_chunks import FIRST_CHUNK, NEWEST_CHUNK
from sessions_app.queries.moments import live_rows
from sessions_app.stored_transcript import StoredTranscript

pytestmark = pytest.mark.django_db


def talk(turns):
    for number in range(turns):
        yield row(f"u{number}", "user", "please look at the parser " * 4)
        yield tool_call(f"c{number}", f"call-{number}")
        yield row(f"t{number}", "tool", f"line {number} " * 40)
        yield row(f"a{number}", "assistant", "done " * 20)


def outline(row):
    return row.key, row.role, row.tokens, row.is_summary, row.opens_turn


def transcript_of(project, turns):
    outcome = import_session(project, source(*talk(turns), foreign_id=f"{turns} turns"), COUNTER)
    return StoredTranscript(Session.objects.get(public_id=outcome.public_id))


def test_it_tells_the_same_as_a_transcript_in_memory(project):
    stored = transcript_of(project, 60)
    session = Session.objects.get()
    rows = [row_of(one) for one in live_rows(session.pk)]
    memory = ListTranscript(rows)
    assert (stored.live_rows, stored.live_tokens) == (memory.live_rows, memory.live_tokens)
    assert list(stored.forward()) == rows
    assert [outline(one) for one in stored.backward()] == [outline(one) for one in memory.backward()]
    assert stored.summaries() == ()
    for start in (rows[0].key, rows[100].key, RowKey(100, rows[100].id + 1), RowKey(10**6, 0)):
        assert list(stored.forward(start)) == list(memory.forward(start))


def test_rows_that_were_appended_after_it_was_opened_are_not_in_it(project):
    stored = transcript_of(project, 5)
    before = list(stored.forward())
    transcript_of_more = import_session(project, source(*talk(5), row("late", "user"), foreign_id="5 turns"), COUNTER)
    assert transcript_of_more.rows_added == 1
    assert list(stored.forward()) == before
    assert [one.key for one in stored.backward()] == [one.key for one in before[::-1]]


def test_looking_at_the_ends_reads_a_small_chunk_of_each_in_one_statement(project):
    stored = transcript_of(project, 200)
    with CaptureQueriesContext(connection) as queries:
        list(islice(stored.forward(), FIRST_CHUNK))
        list(islice(stored.backward(), NEWEST_CHUNK))
        stored.summaries()
    assert len(queries) == 1
    assert queries.captured_queries[0]["sql"].count(f"LIMIT {FIRST_CHUNK}") == 2


@pytest.mark.parametrize("turns", [3, 4, 5, 8, 60])
def test_walks_from_any_row_tell_the_same_wherever_the_cursor_stands(project, turns):
    """Chunks that were read for one walk serve another: no row may be told twice or be missing at a seam."""
    import_session(project, source(*talk(turns), foreign_id=f"{turns} turns"), COUNTER)
    session = Session.objects.get()
    rows = [row_of(one) for one in live_rows(session.pk)]
    memory = ListTranscript(rows)
    for cursor in (None, *rows[::7], RowKey(rows[-1].position + 5, 0)):
        key = cursor.key if isinstance(cursor, Row) else cursor
        session.state = state_json(CompactionState(cursor=key))
        for start in (None, *(one.key for one in rows[::5]), rows[-1].key, RowKey(rows[-1].position + 1, 0)):
            assert list(StoredTranscript(session).forward(start)) == list(memory.forward(start))


def plan_and_count(transcript):
    policy = CompactionPolicy(micro_compact=True, threshold_floor=False)
    context = make_context(policy, Window(8_000), COUNTER)
    with CaptureQueriesContext(connection) as queries:
        plan = plan_micro(transcript, transcript.state, context)
    assert isinstance(plan, MicroPlan)
    return len(queries)


def test_planning_reads_as_little_in_a_session_fifty_times_as_long(project):
    short, long = transcript_of(project, 60), transcript_of(project, 3_000)
    assert plan_and_count(short) == plan_and_count(long)


def test_live_rows_are_read_along_the_index_of_live_positions(project):
    transcript_of(project, 500)
    session = Session.objects.get()
    session.state = state_json(CompactionState(cursor=RowKey(800, 0)))
    stored = StoredTranscript(session)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sessions_app_messagerow")
    with CaptureQueriesContext(connection) as queries:
        list(islice(stored.backward(), 40))
        list(islice(stored.forward(RowKey(1_000, 0)), 40))
    with connection.cursor() as cursor:
        for query in queries.captured_queries:
            cursor.execute("EXPLAIN " + query["sql"])
            plan = "\n".join(line for (line,) in cursor.fetchall())
            assert "row_one_live_per_position" in plan
            assert "Sort" not in plan
