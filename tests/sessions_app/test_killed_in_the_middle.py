"""kill -9 at any moment: no row is lost, nothing is absorbed twice, the totals are those of the rows."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from compaction.messages import RowKey
from sessions_app import services
from sessions_app.mapping import state_of
from sessions_app.models import CompactionPass, MessageRow, SessionEvent
from sessions_app.queries.moments import row_ids_as_of
from sessions_app.queries.totals import counted, recounted
from sessions_app.queries.waiting import waiting_turns

LOOP = Path(__file__).with_name("pass_loop.py")
KILLS = 15
POLICY = {"compression": {"micro_compact": True, "threshold_floor": "off", "threshold": 0.5}}

pytestmark = pytest.mark.django_db(transaction=True)


def run_and_kill(session_id, database_url, chance):
    """Let the loop take some steps, kill it somewhere in the next one; the rows it was told are stored."""
    environment = {**os.environ, "DATABASE_URL": database_url}
    with subprocess.Popen(
        [sys.executable, str(LOOP), str(session_id)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        acknowledged = [int(process.stdout.readline()) for _ in range(chance.randint(3, 12))]
        # Not to wait for anything: the kill shall fall anywhere between two statements.
        time.sleep(chance.uniform(0, 0.04))
        process.kill()
        acknowledged += [int(line) for line in process.stdout.read().split()]
    assert process.returncode == -9
    return max(acknowledged)


def check(rows, acknowledged):
    session, session_id = rows.session, rows.session_id
    stored = MessageRow.objects.filter(session_id=session_id)
    appended = list(stored.filter(kind="message").order_by("position").values_list("position", flat=True))
    assert appended == list(range(session.next_position))
    assert len(appended) >= acknowledged
    assert counted(session) == recounted(session_id)
    archived = []
    for done in CompactionPass.objects.filter(session_id=session_id):
        stamped = set(stored.filter(archived_by=done).values_list("pk", flat=True))
        assert stamped == {*done.edit["archived"], *done.edit["superseded"]}
        assert {one["id"] for one in done.edit["inserted"]} == set(
            stored.filter(made_by=done).values_list("pk", flat=True)
        )
        assert SessionEvent.objects.filter(session_id=session_id, compaction_pass=done, seq=done.seq).count() == 1
        archived += done.edit["archived"]
    assert len(archived) == len(set(archived))
    assert row_ids_as_of(session_id, session.last_seq) == tuple(row.pk for row in rows.live())
    check_state(rows, session)
    return len(archived)


def check_state(rows, session):
    """The engine's state is that of the newest committed pass: its cursor and its text fit the rows."""
    state, summary = state_of(session.state), rows.live_micro()
    if summary is None:
        assert state.cursor is None
        return
    assert state.rolling_summary in summary.content
    absorbed = MessageRow.objects.filter(session_id=session.pk, archived_by__isnull=False, kind="message")
    assert max(RowKey(row.position, row.pk) for row in absorbed) < state.cursor


def test_a_process_killed_at_random_moments_loses_no_row_and_absorbs_nothing_twice(rows, project, database_url):
    services.save_policy(project.pk, POLICY, None)
    rows.session.__class__.objects.filter(pk=rows.session_id).update(window_tokens=8_000)
    chance = random.Random(20_260)
    absorbed = [check(rows, run_and_kill(rows.session_id, database_url, chance)) for _ in range(KILLS)]
    assert absorbed == sorted(absorbed)
    assert absorbed[-1] > 30
    assert len(waiting_turns(rows.session_id)) <= 1
