"""Whoever locks several sessions locks them in the order of their ids, so none of them waits for another in a ring."""

import threading

import pytest
from django.db import connection, transaction
from row_builder import COUNTER, RowBuilder

from compaction.messages import Message, Role
from sessions_app import services
from sessions_app.models import AuditAction, AuditEntry, MessageRow, Session
from sessions_app.services.branching import branch_session
from sessions_app.services.telling import branch_told, reconcile
from sessions_app.told_history import told_history

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_SECONDS = 20
TALK = [(Message(Role.USER if n % 2 == 0 else Role.ASSISTANT, f"word {n}"), "{}") for n in range(6)]


@pytest.fixture
def branch(session):
    """A branch whose history stands for rows of its parent: a pass had folded them away."""
    reconcile(session.pk, told_history(TALK), COUNTER)
    early = MessageRow.objects.filter(session=session, position__in=(2, 3)).values_list("pk", flat=True)
    RowBuilder(session.pk).absorb(list(early))
    reconcile(session.pk, told_history([*TALK, (Message(Role.USER, "more"), "{}")]), COUNTER)
    return branch_told(session.pk, 6)


def in_background(work):
    """A thread that works, and the id of its database process."""
    begun, backend = threading.Event(), []

    def run():
        try:
            with connection.cursor() as cursor:
                cursor.execute("select pg_backend_pid()")
                backend.append(cursor.fetchone()[0])
            begun.set()
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(PATIENCE_SECONDS)
    return thread, backend[0]


def wait_until_blocked(backend):
    """Until that process waits for a lock; fails when it never does."""
    for _ in range(2_000):
        with connection.cursor() as cursor:
            cursor.execute("select cardinality(pg_blocking_pids(%s)), pg_sleep(0.01)", [backend])
            if cursor.fetchone()[0]:
                return
    raise AssertionError("it did not wait for a lock")


def test_a_branch_of_a_branch_waits_for_the_older_session_without_holding_the_younger(session, branch):
    made = []
    with transaction.atomic():
        Session.objects.select_for_update().get(pk=session.pk)
        thread, backend = in_background(lambda: made.append(branch_told(branch.pk, 2)))
        wait_until_blocked(backend)
        assert Session.objects.select_for_update(nowait=True).get(pk=branch.pk)
    thread.join(PATIENCE_SECONDS)
    assert made[0].parent_id == session.pk


def test_deleting_a_session_waits_for_its_older_branches_without_holding_younger_ones(session, branch):
    younger = branch_session(session.pk, 1)
    with transaction.atomic():
        Session.objects.select_for_update().get(pk=branch.pk)
        thread, backend = in_background(lambda: services.delete_session(session.pk))
        wait_until_blocked(backend)
        assert Session.objects.select_for_update(nowait=True).get(pk=younger.pk)
    thread.join(PATIENCE_SECONDS)
    assert set(Session.objects.values_list("pk", "parent_id")) == {(branch.pk, None), (younger.pk, None)}


def test_of_two_deletions_at_once_one_finds_the_session_gone_and_leaves_no_second_entry(session):
    refused = []

    def delete_again():
        try:
            services.delete_session(session.pk)
        except Session.DoesNotExist as error:
            refused.append(error)

    with transaction.atomic():
        services.delete_session(session.pk)
        thread, backend = in_background(delete_again)
        wait_until_blocked(backend)
    thread.join(PATIENCE_SECONDS)
    assert len(refused) == 1
    assert AuditEntry.objects.filter(action=AuditAction.SESSION_DELETED).count() == 1


def test_a_parent_that_is_deleted_while_its_branch_is_branched_leaves_no_branch(session, branch):
    made = []
    with transaction.atomic():
        services.delete_session(session.pk)
        thread, backend = in_background(lambda: made.append(branch_told(branch.pk, 2)))
        wait_until_blocked(backend)
    thread.join(PATIENCE_SECONDS)
    assert made == [None]
