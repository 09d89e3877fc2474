"""What a pass costs the store: the rows it writes and the statements it takes, however long the session is."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from row_builder import COUNTER, RowBuilder, assistant, user

from compaction.scripted import ScriptedSummarizer
from compaction.summarizer import Reply
from sessions_app import services
from sessions_app.models import MessageRow, SummaryRevision, Turn, TurnStep
from sessions_app.passes.passing import Passing
from sessions_app.passes.running import run_pass
from sessions_app.queries.waiting import waiting_turns
from sessions_app.services import Committed

# Transactions, because a row version carries the number of the transaction that wrote it.
pytestmark = pytest.mark.django_db(transaction=True)
SUMMARIZER = ScriptedSummarizer([Reply(text="## Key Decisions\n- go on", finish_reason="stop")], model="small")
# Two to plan, and one more where the tail is long. To commit: begin, lock, step, id, rows out, row in and its words,
# record, event, summaries (two), session, call (in a savepoint, for a pass is kept without it), notice, commit.
MOST_STATEMENTS = 20


@pytest.fixture
def project(project):
    services.save_policy(project.pk, {"compression": {"micro_compact": True, "target_ratio": 0.1}}, None, "on")
    return project


def session_of(project, turns):
    session = services.create_session(project, f"{turns} turns", window_tokens=16_000)
    talk = [row for n in range(turns) for row in (user(f"question {n}"), assistant(f"answer {n} " * 30))]
    services.append_rows(session.pk, talk, COUNTER)
    return session


def make_pass(session, number):
    """One pass after turn `number`: how many row versions of the message table it wrote, and in which statements."""
    turn = Turn.objects.get(session=session, number=number)
    newest = newest_transaction()
    with CaptureQueriesContext(connection) as queries:
        done = run_pass(session.pk, TurnStep.MICRO, Passing(SUMMARIZER, COUNTER, turn))
    assert isinstance(done, Committed)
    written = MessageRow.objects.extra(where=["xmin::text::bigint > %s"], params=[newest])
    return written.count(), [query["sql"] for query in queries.captured_queries]


def newest_transaction():
    with connection.cursor() as cursor:
        cursor.execute("SELECT txid_current()")
        return cursor.fetchone()[0]


@pytest.mark.parametrize("turns", [50, 1_500])
def test_a_pass_writes_the_absorbed_row_the_superseded_summary_and_the_new_one(project, turns):
    session = session_of(project, turns)
    assert [make_pass(session, number)[0] for number in range(1, 6)] == [2, 3, 3, 3, 3]
    assert MessageRow.objects.filter(session=session).count() == turns * 2 + 5


def test_a_pass_takes_as_many_statements_in_a_session_thirty_times_as_long(project):
    sessions = [session_of(project, turns) for turns in (50, 1_500)]
    counts = [[len(make_pass(session, number)[1]) for number in range(1, 6)] for session in sessions]
    assert counts[0] == counts[1]
    # The first pass finds no cursor and looks for it.
    assert max(counts[0][1:]) <= MOST_STATEMENTS, make_pass(sessions[0], 6)[1]


def test_a_pass_stores_its_record_in_one_statement(project):
    """The record holds the prompt and the reply; writing it twice would log all of that twice."""
    _, statements = make_pass(session_of(project, 50), 1)
    touching = [
        one
        for one in statements
        if '"sessions_app_compactionpass" SET' in one or 'INTO "sessions_app_compactionpass"' in one
    ]
    assert len(touching) == 1


def test_versions_of_the_summary_are_numbered_without_a_gap_and_each_but_the_last_is_superseded(project):
    session = session_of(project, 50)
    for number in range(1, 6):
        make_pass(session, number)
    versions = SummaryRevision.objects.filter(session=session).order_by("number")
    assert [one.number for one in versions] == [1, 2, 3, 4, 5]
    passes = [one.compaction_pass_id for one in versions]
    assert [one.superseded_by_id for one in versions] == [*passes[1:], None]


def test_a_row_that_is_dead_already_is_refused_and_nothing_is_stored(project):
    session = session_of(project, 50)
    rows = RowBuilder(session.pk)
    row_ids = [row.pk for row in rows.live()[1:2]]
    rows.absorb(row_ids)
    before = MessageRow.objects.filter(session=session).count()
    with pytest.raises(ValueError, match="not live"):
        rows.absorb(row_ids)
    assert MessageRow.objects.filter(session=session).count() == before
    assert session.passes.count() == 1


def test_looking_for_turns_that_are_not_over_reads_an_index_of_these_alone(project):
    """Each turn begins by ending abandoned ones and ends by asking which wait: neither may read all turns."""
    session = session_of(project, 1_500)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sessions_app_turn")
    with CaptureQueriesContext(connection) as queries:
        services.append_rows(session.pk, [user("and now?"), assistant("this")], COUNTER)
        services.finish_turn(session.pk, deferring=False)
        waiting_turns(session.pk)
    looking = [one["sql"] for one in queries.captured_queries if 'ended_at" IS NULL' in one["sql"]]
    assert len(looking) == 2
    with connection.cursor() as cursor:
        for sql in looking:
            cursor.execute(f"EXPLAIN {sql}")
            assert "turn_not_over" in "".join(line for (line,) in cursor.fetchall())
