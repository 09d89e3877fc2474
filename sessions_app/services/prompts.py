"""What a client sends beside the conversation: its system messages and its tools, kept with the session.

Each version is stored once, when it first differs from the one before; the newest is the session's fixed overhead.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from django.db import transaction

from sessions_app import clock
from sessions_app.mapping import MAX_INT4, storable_json
from sessions_app.models import Session, SessionPrompt
from sessions_app.services.thresholds import set_threshold


def note_prompt(
    session_id: int, messages: Sequence[str], tools: str, digest: str, tokens: int, model: str | None
) -> bool:
    """Keep what was sent beside the conversation if it is new; True when it was.

    messages: JSON texts; tools: a JSON text, empty when none were sent. model: the model that was named. Raises
    Session.DoesNotExist.
    """
    newest = SessionPrompt.objects.filter(session_id=session_id).order_by("-number").first()
    session = Session.objects.select_related("project").get(pk=session_id)
    if newest is not None and newest.digest == digest and (model is None or session.model == model):
        return False
    with transaction.atomic():
        session = Session.objects.select_for_update(of=("self",)).select_related("project").get(pk=session_id)
        newest = SessionPrompt.objects.filter(session_id=session_id).order_by("-number").first()
        session.fixed_overhead_tokens = min(tokens, MAX_INT4)
        session.model = model or session.model
        set_threshold(session)
        session.save(update_fields=["fixed_overhead_tokens", "model", "threshold_tokens", "threshold_source"])
        if newest is not None and newest.digest == digest:
            return False
        SessionPrompt.objects.create(
            session=session,
            number=1 if newest is None else newest.number + 1,
            seq=session.last_seq,
            at=clock.now(),
            digest=digest,
            messages=[storable_json(json.loads(message)) for message in messages],
            tools=storable_json(json.loads(tools)) if tools else None,
            tokens=session.fixed_overhead_tokens,
        )
    return True
