"""Work that waits: turns whose end is still to come."""

from __future__ import annotations

from datetime import datetime

from procrastinate.contrib.django.models import ProcrastinateJob

from sessions_app.deferring import FINALIZE_TURN, session_lock
from sessions_app.models import Turn


def waiting_turns(session_id: int) -> list[Turn]:
    """Turns whose reply was sent and that are not over, oldest first."""
    waiting = Turn.objects.filter(session_id=session_id, reply_sent_at__isnull=False, ended_at__isnull=True)
    return list(waiting.order_by("number"))


def sessions_left_waiting(since: datetime) -> list[int]:
    """Sessions with turns that wait since then or longer, and no job that would end them: it failed, or was lost."""
    waiting = Turn.objects.filter(reply_sent_at__lte=since, ended_at__isnull=True)
    session_ids = list(waiting.order_by("session_id").values_list("session_id", flat=True).distinct())
    jobs = ProcrastinateJob.objects.filter(task_name=FINALIZE_TURN, status__in=("todo", "doing"))
    locks = set(jobs.filter(lock__in=map(session_lock, session_ids)).values_list("lock", flat=True))
    return [session_id for session_id in session_ids if session_lock(session_id) not in locks]
