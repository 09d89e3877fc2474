"""Work that waits: turns whose end is still to come."""

from __future__ import annotations

from sessions_app.models import Turn


def waiting_turns(session_id: int) -> list[Turn]:
    """Turns whose reply was sent and that are not over, oldest first."""
    waiting = Turn.objects.filter(session_id=session_id, reply_sent_at__isnull=False, ended_at__isnull=True)
    return list(waiting.order_by("number"))
