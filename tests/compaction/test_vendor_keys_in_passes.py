"""Keys of every vendor, put wherever a transcript has room for them, through whole passes (ENGINE 10)."""

import json
import random
from dataclasses import asdict

import pytest

from compaction.redaction import MASK, redact
from compaction.summarizer import Reply
from tests.compaction.faults import Session
from tests.compaction.test_redaction import (
    HOSTILE,
    LOOK_ALIKES,
    VENDOR_SHAPES,
    generate,
    generated_look_alikes,
    longest_piece,
    seconds_for,
)  # fmt: skip
from tests.compaction.transcripts import assistant, call, result, rows_of, system, user

RUNS = {"micro": Session.micro, "batch": Session.batch}
FILLER = "words about the work and nothing else " * 60


def session_with(texts):
    """A session whose oldest exchange holds `texts` in a request, a call, its result and an answer."""
    joined = " and ".join(texts)
    arguments = json.dumps({"command": f"deploy {joined}", "env": {"NOTE": joined}})
    return Session(
        rows_of(
            system(), user("begin"), assistant("begun"),
            user(f"use {joined} {FILLER}"), assistant(f"running {joined}", call("1", "terminal", arguments)),
            result("1", f"output\n{joined}\n{FILLER}"), assistant(f"done with {joined}. {FILLER}"),
            user("go on"), assistant("going on"), user("and now?"), assistant("finished"),
        )
    ).tail_of(100)  # fmt: skip


def told(record):
    """All that a pass asks, gets and stores, without what the rows themselves hold."""
    return json.dumps([asdict(record.request), record.summary_after, asdict(record.edit), record.notes], default=str)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("vendor", VENDOR_SHAPES)
def test_a_vendor_s_key_is_in_no_question_and_no_summary(vendor, run):
    before, parts, after = VENDOR_SHAPES[vendor]
    chance = random.Random(f"{vendor} in a pass")
    keys = [before + generate(parts, chance) + after for _ in range(2)]
    session = session_with(keys[:1])
    said = f"## Key Decisions\n- keep `{keys[0]}`\n\n## Files and Commands\n- deploy {keys[1]}\n- src/app.py"
    record = RUNS[run](session, Reply(text=said, finish_reason="stop"))
    assert record.is_committed
    for key in keys:
        assert longest_piece(key) not in told(record)
        assert not any(longest_piece(key) in row.message.text for row in session.summaries)
    assert MASK in record.request.user and MASK in record.summary_after


@pytest.mark.parametrize("run", RUNS)
def test_what_only_looks_like_a_key_stays_in_the_question(run):
    texts = [text for text in (*generated_look_alikes(), *LOOK_ALIKES) if "data:" not in text][::7]
    record = RUNS[run](session_with(texts))
    shown = record.request.messages
    assert record.redactions == 0
    assert all(any(text in message.text for message in shown) for text in texts)


@pytest.mark.parametrize("run", RUNS)
def test_arguments_are_json_after_a_pass_has_masked_them(run):
    session = session_with(["ghp_" + "a1B2c3D4e5" * 4])
    record = RUNS[run](session, Reply(text="## Key Decisions\n- kept", finish_reason="stop"))
    (arguments,) = [each.arguments for message in record.request.messages for each in message.tool_calls]
    assert json.loads(arguments) == {"command": f"deploy {MASK}", "env": {"NOTE": MASK}}


def test_five_megabytes_of_everything_hostile_take_ten_times_as_long_as_a_tenth_of_it():
    unit = " ".join(HOSTILE) + " --token ?key= <password> curl -u a: mysql -p Cookie: a=b; ghp_ "
    assert seconds_for(unit, 5_000_000) < 30 * seconds_for(unit, 500_000)


def test_masking_five_hundred_texts_at_once_or_one_by_one_is_the_same():
    chance = random.Random(5)
    keys = [generate(parts, chance) for _, parts, _ in VENDOR_SHAPES.values()]
    lines = [f"line {n} holds {before}{key}{after} and ends" for n, (key, (before, _, after)) in enumerate(
        zip(keys, VENDOR_SHAPES.values(), strict=True))]  # fmt: skip
    assert redact("\n".join(lines)).text == "\n".join(redact(line).text for line in lines)
