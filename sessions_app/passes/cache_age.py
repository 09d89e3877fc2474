"""Whether the provider's prompt cache of a session has expired since the last call to its main model.

Must not write. The lifetime is that of the price table of the session's model. Without a call that is known, or without
a table, nobody can tell, and None is the answer: a pass that waits for a cold cache then waits.
"""

from __future__ import annotations

from compaction.cache_prices import shipped_price_table
from sessions_app import clock
from sessions_app.models import CallPurpose, ModelCall, Session
from sessions_app.session_policy import model_of


def is_cache_cold(session: Session) -> bool | None:
    """True when the cache has expired, False while it lives, None when that can't be known."""
    prices = shipped_price_table().for_model(model_of(session) or "")
    # A call that failed may have been refused before anything was read into the cache.
    calls = ModelCall.objects.filter(session_id=session.pk, purpose=CallPurpose.MAIN, error="")
    last = calls.order_by("-id").values_list("at", flat=True).first()
    if prices is None or last is None:
        return None
    is_alive = prices.is_alive(last.timestamp(), clock.now().timestamp())
    return None if is_alive is None else not is_alive
