"""The tokens of told histories are counted while nobody waits for the session."""

import pytest
from django.db import connection
from row_builder import COUNTER, RoughCounter

from compaction.messages import Message, Role
from compaction.tokens import row_tokens
from sessions_app.mapping import message_of
from sessions_app.models import MessageRow
from sessions_app.services import NewMessage, telling
from sessions_app.services.telling import reconcile, store_told_answer
from sessions_app.told_history import told_history


class CounterOutsideTransactions(RoughCounter):
    """Counts tokens, and fails where rows of sessions are locked."""

    counted = 0

    def count(self, text):
        self.counted += 1
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'RowShareLock'"
                " AND relation = 'sessions_app_session'::regclass"
            )
            assert cursor.fetchone()[0] == 0
        return super().count(text)


def told(*texts):
    return told_history((Message(Role.USER, text), "{}") for text in texts)


@pytest.mark.django_db(transaction=True)
def test_tokens_of_a_told_history_and_of_its_answer_are_counted_before_the_session_is_locked(session):
    counter = CounterOutsideTransactions()
    reconcile(session.pk, told("one", "two", "three"), counter)
    first = counter.counted
    base = reconcile(session.pk, told("one", "two", "three", "four"), counter).last_prefix
    assert 0 < counter.counted - first < first
    assert store_told_answer(session.pk, base, NewMessage(Message(Role.ASSISTANT, "five")), counter)
    rows = MessageRow.objects.filter(session=session, died_seq__isnull=True).order_by("position")
    assert [row.content for row in rows] == ["one", "two", "three", "four", "five"]
    assert [row.tokens for row in rows] == [row_tokens(message_of(row), COUNTER) for row in rows]


@pytest.mark.django_db
def test_a_history_that_changes_between_the_count_and_the_lock_is_counted_anew(session, monkeypatch):
    reconcile(session.pk, told("one", "two", "three"), COUNTER)
    lock = telling.lock_session

    def changed(session_id):
        monkeypatch.setattr(telling, "lock_session", lock)
        reconcile(session_id, told("one"), COUNTER)
        return lock(session_id)

    monkeypatch.setattr(telling, "lock_session", changed)
    done = reconcile(session.pk, told("one", "two", "three", "four"), COUNTER)
    assert (done.kept, done.added) == (1, 3)
    rows = MessageRow.objects.filter(session=session, died_seq__isnull=True).order_by("position")
    assert [row.content for row in rows] == ["one", "two", "three", "four"]
