"""The ledger of calls over the API."""

from decimal import Decimal

import pytest

from compaction.summarizer import Reply, Usage
from sessions_app import clock, services
from sessions_app.models import CallPurpose
from sessions_app.services import CallMade, ContextSent

pytestmark = pytest.mark.django_db


@pytest.fixture
def called(session, past):
    """A call to the main model, one that failed, and one of a pass."""
    usage = Usage(30, 7, 2, 20)
    reply = Reply(text="hi", model="served", usage=usage, duration_ms=900, first_token_ms=120)
    sent = ContextSent(seq=9, rows=5, tokens=812, repairs=("merged_neighbours",), waited_ms=40, went_ahead=True)
    main = CallMade(CallPurpose.MAIN, clock.now(), reply, "custom", "http://127.0.0.1/v1", "big", Decimal("0.01"), sent)
    failed = CallMade(CallPurpose.MAIN, clock.now(), Reply(error="http_500"), model="big")
    services.record_calls(session.pk, [main, failed])
    services.record_calls(session.pk, [CallMade(CallPurpose.ABSORB, clock.now(), reply)], session.passes.get())
    return session


def test_every_call_is_told_with_what_was_reported_and_what_was_sent(called, reader, url):
    main, failed, absorb = reader.get(f"{url}/calls").json()["calls"]
    assert (main["purpose"], main["model"], main["error"]) == ("main", "served", "")
    assert (main["provider"], main["endpoint"]) == ("custom", "http://127.0.0.1/v1")
    assert (main["input_tokens"], main["cached_tokens"], main["reasoning_tokens"]) == (30, 20, 2)
    assert (main["first_token_ms"], main["duration_ms"], Decimal(main["cost_usd"])) == (120, 900, Decimal("0.01"))
    assert (main["context_seq"], main["context_rows"], main["context_tokens"]) == (9, 5, 812)
    assert (main["repairs"], main["waited_ms"], main["went_ahead"]) == (["merged_neighbours"], 40, True)
    assert (failed["error"], failed["input_tokens"], failed["context_seq"]) == ("http_500", None, None)
    assert (absorb["purpose"], absorb["made_for_pass"], absorb["waited_ms"]) == ("absorb", 1, None)


def test_calls_come_in_pages_and_by_purpose(called, reader, url):
    first = reader.get(f"{url}/calls", limit=2).json()
    rest = reader.get(f"{url}/calls", limit=2, after=first["next"]).json()
    assert [one["purpose"] for one in first["calls"] + rest["calls"]] == ["main", "main", "absorb"]
    assert rest["next"] is None
    assert len(reader.get(f"{url}/calls", purpose="absorb").json()["calls"]) == 1
    assert reader.get(f"{url}/calls", purpose="other").status_code == 400
