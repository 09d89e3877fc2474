"""Constraints hold in the database itself, whatever Python does."""

import pytest
from django.db import IntegrityError, connection, transaction
from row_builder import COUNTER, assistant, user

from compaction.messages import Message, Role, RowKind
from sessions_app import services
from sessions_app.mapping import new_message_row
from sessions_app.models import CompactionPass, MessageRow, RowLifetime, Session
from sessions_app.queries.moments import as_of_sql

pytestmark = pytest.mark.django_db


def unsaved(session_id, position, kind=RowKind.MESSAGE, born_seq=1):
    return new_message_row(
        session_id,
        Message(Role.ASSISTANT, "text"),
        position=position,
        born_seq=born_seq,
        tokens=3,
        token_counter="rough",
        kind=kind,
    )


def refused(row):
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        row.save()
        connection.check_constraints()
    return str(caught.value)


def test_two_live_rows_cannot_share_a_position(session):
    unsaved(session.pk, 5).save()
    assert "row_one_live_per_position" in refused(unsaved(session.pk, 5))


def test_a_live_row_may_take_the_position_of_a_dead_one(session):
    dead = unsaved(session.pk, 5)
    dead.died_seq = 2
    dead.save()
    unsaved(session.pk, 5, born_seq=2).save()
    assert MessageRow.objects.filter(session=session, position=5).count() == 2


def test_a_session_has_at_most_one_live_micro_summary(session):
    unsaved(session.pk, 1, RowKind.MICRO_SUMMARY).save()
    assert "row_one_live_micro_summary" in refused(unsaved(session.pk, 2, RowKind.MICRO_SUMMARY))


def test_a_session_may_have_many_live_batch_summaries(session):
    unsaved(session.pk, 1, RowKind.BATCH_SUMMARY).save()
    unsaved(session.pk, 2, RowKind.BATCH_SUMMARY).save()


def test_a_row_cannot_die_at_the_event_of_its_birth(session):
    row = unsaved(session.pk, 1, born_seq=4)
    row.died_seq = 4
    assert "row_dies_after_birth" in refused(row)


def test_a_foreign_id_is_unique_in_its_session_only(session, project):
    other = services.create_session(project)
    for number, place in enumerate((session.pk, other.pk)):
        row = unsaved(place, number)
        row.foreign_id = "m1"
        row.save()
    again = unsaved(session.pk, 7)
    again.foreign_id = "m1"
    assert "row_foreign_id" in refused(again)


@pytest.mark.parametrize(("column", "value"), [("kind", "note"), ("role", "robot"), ("tokens", -1)])
def test_unknown_kinds_and_roles_and_negative_costs_are_refused(session, column, value):
    row = unsaved(session.pk, 1)
    setattr(row, column, value)
    assert f"row_{column}" in refused(row)


def test_a_row_cannot_be_archived_by_a_pass_of_another_session(session, project):
    other = services.create_session(project)
    foreign = CompactionPass.objects.create(
        session=other, number=1, seq=1, committed=True, kind="micro", outcome="absorbed"
    )
    row = unsaved(session.pk, 1)
    row.died_seq, row.archived_by = 2, foreign
    assert "row_archived_by_pass" in refused(row)


def test_the_tokens_of_a_session_add_up(session):
    with pytest.raises(IntegrityError, match="session_tokens_add_up"), transaction.atomic():
        Session.objects.filter(pk=session.pk).update(live_tokens=7)


def nodes(plan):
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def test_as_of_reads_by_index_among_a_hundred_thousand_rows_of_other_sessions(session, project):
    other = services.create_session(project)
    services.append_rows(session.pk, [user("a"), assistant("b"), user("c")], COUNTER)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO sessions_app_messagerow (session_id, position, born_seq, kind, role, content, message_extras,"
            " by_person, tokens, token_counter, raw, is_repaired) SELECT %s, n, n + 1, 'message', 'user', 'x', '',"
            " true, 11, 'rough', '', false FROM generate_series(0, 99999) AS n",
            [other.pk],
        )
        cursor.execute(
            "INSERT INTO sessions_app_rowlifetime (session_id, row_id, born_seq, died_seq)"
            " SELECT session_id, id, born_seq, born_seq + 1 FROM sessions_app_messagerow WHERE session_id = %s",
            [other.pk],
        )
        cursor.execute("ANALYZE sessions_app_messagerow, sessions_app_rowlifetime")
        cursor.execute("EXPLAIN (FORMAT JSON) " + as_of_sql(), {"session": session.pk, "seq": 2})
        (plan,) = cursor.fetchone()[0]
    found = list(nodes(plan["Plan"]))
    assert RowLifetime.objects.count() == 100_000
    assert not [node for node in found if node["Node Type"] == "Seq Scan"]
    assert [node for node in found if "Index Name" in node]
