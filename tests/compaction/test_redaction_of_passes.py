"""Secrets of a transcript never get into what a pass asks, stores or hands on, whoever repeats them (ENGINE 10)."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from compaction.batch import plan_batch, settle_batch
from compaction.live_rows import LiveRows
from compaction.messages import RowKind
from compaction.micro import plan_micro, settle_micro
from compaction.pass_context import make_context
from compaction.policy import CompactionPolicy
from compaction.state import CompactionState
from compaction.summarizer import Reply
from compaction.threshold import Window
from compaction.wire import message_from_openai
from tests.compaction.transcripts import COUNTER, assistant, call, result, rows_of, system, user

INPUTS = Path(__file__).parent.parent / "data" / "bugs"
SECRET = "FAKEanswer" + "0a1B2c3D4e" * 3
ECHOING = f"## Key Decisions\n- keep sqlite\n- the token is {SECRET}9 and api_key={SECRET}\n- password: FAKEpass99"
FILLER = "words about the work and nothing else " * 150


def transcript():
    raws = json.loads((INPUTS / "X07_fake_secrets.json").read_text(encoding="utf-8"))
    messages = [message_from_openai(raw, lambda problem: None) for raw in raws]
    asked = user(f"use password=FAKEuser123 and the key sk-FAKE{'0' * 30} {FILLER}")
    return rows_of(*messages, asked, assistant(FILLER), user("go on"), assistant(FILLER), user("and now?"))


def context():
    policy = CompactionPolicy(micro_compact=True, protect_first_n=1, threshold_floor=False)
    return make_context(policy, Window(3_000), COUNTER)


def live(rows):
    live_rows = LiveRows(10_000)
    for row in rows:
        live_rows.insert(row)
    return live_rows


def stored(settled):
    """Everything of a settled pass that is stored."""
    return json.dumps([asdict(settled.record), settled.state.to_mapping()], default=str)


@pytest.mark.parametrize("text", [ECHOING, "", f"Error: bad key sk-FAKE{'1' * 30}"])
def test_x07_a_batch_asks_and_stores_nothing_secret(text):
    rows = live(transcript())
    state = CompactionState(rolling_summary="old summary with api_key=FAKE-oldmarker-000111222333")
    plan = plan_batch(rows, state, context(), now=0.0, is_manual=True, focus="keep token=FAKEfocus12345")
    settled = settle_batch(plan, Reply(text=text, reasoning=f"token={SECRET}", finish_reason="stop"))
    assert "FAKE" not in json.dumps(asdict(plan.request), default=str)
    assert "FAKE" not in json.dumps(asdict(settled.record), default=str)
    if text == ECHOING:
        assert settled.record.is_committed


def test_x07_an_unanswered_request_is_redacted_before_it_becomes_the_task_of_a_summary():
    asked = user(f"deploy with password=FAKEuser123 {FILLER}")
    broken_off = (assistant("", call("1", "terminal", "{}")), result("1", FILLER))
    rows = rows_of(system(), user("start"), assistant(FILLER), asked, *broken_off, user("go on"), assistant("ok"))
    plan = plan_batch(live(rows), CompactionState(), context(), now=0.0, is_manual=True)
    settled = settle_batch(plan, Reply(text=ECHOING, finish_reason="stop"))
    (row,) = settled.record.edit.inserted
    assert "deploy with password=[REDACTED]" in row.message.text
    assert "FAKE" not in stored(settled)


def test_x07_a_micro_pass_asks_and_stores_nothing_secret():
    state = CompactionState(rolling_summary="old summary with api_key=FAKE-oldmarker-000111222333")
    plan = plan_micro(live(transcript()), state, context())
    settled = settle_micro(plan, Reply(text=ECHOING, finish_reason="stop"))
    assert settled.record.is_committed
    (row,) = settled.record.edit.inserted
    assert row.kind is RowKind.MICRO_SUMMARY
    assert "FAKE" not in json.dumps(asdict(plan.request), default=str)
    assert "FAKE" not in stored(settled)
    assert "[REDACTED]" in row.message.text


def test_x09_a_secret_in_the_oldest_exchange_never_stops_a_pass():
    settled = settle_micro(plan_micro(live(transcript()), CompactionState(), context()), Reply(text=ECHOING))
    assert settled.record.is_committed
    assert settled.record.redactions > 0
