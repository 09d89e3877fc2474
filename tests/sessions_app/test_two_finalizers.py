"""Two processes that end the same turn at the same time: one pass is stored, and nothing is lost of the other but its
pass."""

import threading

import pytest
from django.db import connection
from row_builder import COUNTER, NewMessage
from talk import SUMMARY, Talk, passes

from compaction.messages import Message, Role
from compaction.scripted import ScriptedSummarizer
from sessions_app import services
from sessions_app.finalizing import finalize_turns
from sessions_app.models import ModelCall, Turn
from sessions_app.queries.totals import counted, recounted

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_SECONDS = 30
MICRO = {"compression": {"micro_compact": True, "threshold_floor": "off", "threshold": 0.5}}
BATCH = {"compression": {"threshold_floor": "off", "threshold": 0.5}}


class Together(ScriptedSummarizer):
    """Answers when both have asked."""

    def __init__(self, barrier):
        super().__init__([SUMMARY], model="small")
        self._barrier = barrier

    def ask(self, request):
        self._barrier.wait(PATIENCE_SECONDS)
        return super().ask(request)


def finalize_twice(session_id):
    barrier = threading.Barrier(2)
    ended = []

    def work():
        try:
            ended.append(finalize_turns(session_id, Together(barrier), COUNTER))
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert len(ended) == 2


@pytest.mark.parametrize(("policy", "turns", "words"), [(MICRO, 9, 60), (BATCH, 12, 120)])
def test_one_pass_is_stored_and_both_calls_are_in_the_ledger(project, rows, policy, turns, words):
    type(rows.session).objects.filter(pk=rows.session_id).update(window_tokens=8_000)
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")))
    talk = Talk(rows)
    for number in range(turns):
        talk.turn(number, words)
    Turn.objects.filter(session_id=rows.session_id, number__lt=turns).update(ended_at="2026-01-01T00:00:00Z")
    services.save_policy(project.pk, policy, None)
    finalize_twice(rows.session_id)
    [made] = passes(rows)
    assert made.committed
    assert sorted(call.compaction_pass_id or 0 for call in ModelCall.objects.all()) == [0, made.pk]
    assert not rows.session.last_error
    assert not Turn.objects.filter(ended_at__isnull=True).exists()
    assert counted(rows.session) == recounted(rows.session_id)
