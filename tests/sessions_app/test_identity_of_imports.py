"""Faults of identity: what is the same must stay the same, and nothing is counted twice."""

from pathlib import Path

import pytest
from django.db.models import Sum
from row_builder import COUNTER

from sessions_app import services
from sessions_app.importing import import_paths
from sessions_app.models import MessageRow, Session

pytestmark = pytest.mark.django_db
INPUTS = Path(__file__).parent.parent / "data" / "bugs"


def bring_in(project, path):
    outcomes = [session for file in import_paths([path], project, COUNTER) for session in file.sessions]
    return sum(one.rows_added for one in outcomes), sum(one.rows_present for one in outcomes)


def test_i12_a_deleted_session_that_comes_back_is_itself_again(project):
    path = INPUTS / "I02_bom.jsonl"
    added, _present = bring_in(project, path)
    before = Session.objects.get()
    services.delete_session(before.pk)
    assert bring_in(project, path) == (added, 0)
    restored = Session.objects.get()
    assert (restored.source, restored.foreign_id) == (before.source, before.foreign_id)
    assert bring_in(project, path) == (0, added)
    assert MessageRow.objects.count() == restored.live_rows + restored.archived_rows


def test_t09_a_session_counts_its_own_rows_and_sub_agents_count_theirs(project):
    bring_in(project, INPUTS / "I13_subagent")
    sessions = list(Session.objects.all())
    assert len(sessions) == 3
    own = {one.pk: one.rows.filter(died_seq=None).aggregate(sum=Sum("tokens"))["sum"] for one in sessions}
    assert {one.pk: one.live_tokens for one in sessions} == own
    assert sum(own.values()) == MessageRow.objects.filter(died_seq=None).aggregate(sum=Sum("tokens"))["sum"]
