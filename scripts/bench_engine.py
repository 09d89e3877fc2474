"""What planning and settling one micro pass costs in the engine alone, at four session sizes.

    python scripts/bench_engine.py [--repeat N]

Prints the machine, and for each size the median with the spread of the runs and the ratio to the smallest size (the
baseline). No store and no model is involved: the summarizer's words are a fixed text.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from compaction.batch import BatchPlan, plan_batch, settle_batch
from compaction.messages import Message, Role, Row
from compaction.micro import MicroPlan, plan_micro, settle_micro
from compaction.pass_context import make_context
from compaction.policy import CompactionPolicy
from compaction.state import CompactionState
from compaction.summarizer import Reply
from compaction.threshold import Window
from compaction.tokens import TiktokenCounter, row_tokens
from compaction.transcript import ListTranscript

SIZES = (100, 1_000, 10_000, 100_000)
# What the recorded behaviour of another implementation took at these sizes, in milliseconds.
RECORDED_MS = {100: "2.2", 1_000: "9", 10_000: "270"}
BATCH_ROWS, BATCH_RUNS, RECORDED_BATCH_MS = 10_000, 9, 913
SUMMARY = "## Key Decisions\n- keep the row store\n\n## Files and Commands\n- src/store.py"


def make_rows(count: int, counter: TiktokenCounter) -> list[Row]:
    """`count` rows: a system prompt and plain turns of a question and an answer of about 60 tokens."""
    question = Message(Role.USER, "and what happens then, in detail?")
    answer = Message(Role.ASSISTANT, "the row is stamped and stays readable in the archive; " * 5)
    rows = [Row(0, 0, Message(Role.SYSTEM, "You are a helper."), 15)]
    costs = {id(message): row_tokens(message, counter) for message in (question, answer)}
    for n in range(1, count):
        message = question if n % 2 else answer
        rows.append(Row(n, n, message, costs[id(message)]))
    return rows


def measure(count: int, repeat: int, counter: TiktokenCounter) -> list[float]:
    """Milliseconds of `repeat` planned and settled passes on a session of `count` rows."""
    transcript = ListTranscript(make_rows(count, counter))
    context = make_context(CompactionPolicy(micro_compact=True, target_ratio=0.10), Window(16_000), counter)
    reply = Reply(text=SUMMARY, finish_reason="stop", duration_ms=0)
    taken = []
    for _ in range(repeat + 5):
        started = time.perf_counter()
        plan = plan_micro(transcript, CompactionState(), context)
        if not isinstance(plan, MicroPlan):
            raise SystemExit(f"nothing to measure at {count} rows: {plan.reason}")
        settle_micro(plan, reply)
        taken.append((time.perf_counter() - started) * 1_000)
    return sorted(taken[5:])


def measure_batch(count: int, repeat: int, counter: TiktokenCounter) -> list[float]:
    """Milliseconds of `repeat` planned and settled batches on a session of `count` rows."""
    transcript = ListTranscript(make_rows(count, counter))
    context = make_context(CompactionPolicy(), Window(400_000), counter)
    reply = Reply(text=SUMMARY, finish_reason="stop", duration_ms=0)
    taken = []
    for _ in range(repeat):
        started = time.perf_counter()
        plan = plan_batch(transcript, CompactionState(), context, now=0.0, is_manual=True)
        if not isinstance(plan, BatchPlan):
            raise SystemExit(f"nothing to measure at {count} rows: {plan}")
        settle_batch(plan, reply)
        taken.append((time.perf_counter() - started) * 1_000)
    return sorted(taken)


def print_batch(counter: TiktokenCounter) -> None:
    """One line for a batch over 10,000 rows."""
    taken = measure_batch(BATCH_ROWS, BATCH_RUNS, counter)
    median = statistics.median(taken)
    spread = f"{taken[0]:.0f} to {taken[-1]:.0f} ms"
    print(f"batch over {BATCH_ROWS:,} rows, {BATCH_RUNS} runs: median {median:.0f} ms, {spread},")
    print(f"  {median / RECORDED_BATCH_MS:.2f} of the recorded {RECORDED_BATCH_MS} ms")


def main() -> None:
    """Measure every size and print a table."""
    parser = argparse.ArgumentParser(description="Time a micro pass in the engine alone.")
    parser.add_argument("--repeat", type=int, default=200)
    repeat = parser.parse_args().repeat
    counter = TiktokenCounter()
    print(f"{platform.platform()}, Python {platform.python_version()}, {repeat} runs a size")
    print(f"{'rows':>8} {'median ms':>10} {'p5':>8} {'p95':>8} {'ratio to 100 rows':>18} {'recorded ms':>12}")
    baseline = None
    for size in SIZES:
        taken = measure(size, repeat, counter)
        median = statistics.median(taken)
        baseline = baseline or median
        low, high = taken[len(taken) // 20], taken[-1 - len(taken) // 20]
        recorded = RECORDED_MS.get(size, "unknown")
        print(f"{size:>8,} {median:>10.3f} {low:>8.3f} {high:>8.3f} {median / baseline:>18.2f} {recorded:>12}")
    print_batch(counter)


if __name__ == "__main__":
    main()
