"""Break rules of the engine one at a time and see that a test notices.

    python scripts/break_rules.py [--only 5.4] [--keep]

For each break a temporary copy of the engine and its tests is made, one piece of source is replaced exactly, and tests
run until one fails: those that should notice first, then all others. Exits with 1 when a break survives, and with 2
when the source that a break replaces is not there any more (the list below then has to follow). The list is described
in docs/engine.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
# What the engine's tests need; the site is left out, so no database is started.
COPIED = ("compaction", "docs", "scripts", "tests/compaction", "tests/data", "pyproject.toml")
TESTS = "tests/compaction"
SECONDS = 600


@dataclass(frozen=True, slots=True)
class Break:
    """A rule, and the piece of source whose replacement breaks it. tests: files that are run first, then all others."""

    rule: str
    what: str
    module: str
    source: str
    broken: str
    tests: tuple[str, ...]


BREAKS = (
    Break(
        "3.1",
        "the head decays once something was compacted",
        "compaction/zones.py",
        "    head = _head(transcript, protect_first_n, head_limit_tokens)\n",
        "    head = _head(transcript, 0 if transcript.summaries() else protect_first_n, head_limit_tokens)\n",
        ("test_zones.py", "test_laws.py", "test_micro.py", "test_faults_of_passes.py"),
    ),
    Break(
        "3.3",
        "a micro pass has a middle although everything fits into the tail",
        "compaction/micro.py",
        "    if not zones.has_middle:\n        return Nothing(NothingReason.BELOW_TAIL_BUDGET, state, zones)\n",
        "    if not zones.has_middle:\n        zones = replace(zones, tail_start=None, tail_rows=0, tail_tokens=0)\n",
        ("test_micro.py", "test_laws.py"),
    ),
    Break(
        "4.1",
        "an exchange is taken although nothing follows it yet",
        "compaction/exchanges.py",
        "        if row is None or row.role in _AGENT_ROLES:\n            return\n",
        "        if row is None:\n            return\n",
        ("test_exchanges.py", "test_laws.py", "test_faults_of_passes.py"),
    ),
    Break(
        "5.4",
        "the former rolling summary stays live beside the new one",
        "compaction/micro.py",
        "    return Edit(absorbed, tuple(row.id for row in plan.superseded), (row,))\n",
        "    return Edit(absorbed, (), (row,))\n",
        ("test_micro.py", "test_laws.py"),
    ),
    Break(
        "6",
        "a defrag that gains nothing is committed",
        "compaction/micro.py",
        "    if plan.kind is PassKind.DEFRAG and summary_tokens >= plan.state.rolling_summary_tokens:\n",
        "    if plan.kind is PassKind.DEFRAG and summary_tokens > 10 * plan.state.rolling_summary_tokens:\n",
        ("test_micro.py", "test_faults_of_passes.py"),
    ),
    Break(
        "7.1",
        "an answer that was cut off at its limit is stored",
        "compaction/replies.py",
        "    if finish in _CUT_OFF:\n",
        '    if finish in _CUT_OFF - {"length"}:\n',
        ("test_replies.py", "test_micro.py", "test_faults_of_passes.py"),
    ),
    Break(
        "8.2",
        "a prune reaches into the tail",
        "compaction/prune.py",
        "        return self._zones is None or self._zones.holds_in_middle(row.key)\n",
        "        return self._zones is None or row.key >= self._zones.middle_start\n",
        ("test_prune.py",),
    ),
    Break(
        "8.5",
        "a batch summary that is not smaller than what it replaces is committed",
        "compaction/batch.py",
        "    if row.tokens >= plan.window.tokens:\n",
        "    if row.tokens >= 10 * plan.window.tokens:\n",
        ("test_batch.py", "test_faults_of_passes.py"),
    ),
    Break(
        "9",
        "calls without a result are sent to the model",
        "compaction/model_view.py",
        "    if found.waiting and not is_running:\n",
        "    if found.waiting and not is_running and False:\n",
        ("test_model_view.py", "test_laws.py"),
    ),
    Break(
        "10",
        "what a summarizer answers is stored without redaction",
        "compaction/replies.py",
        "    return Usable(redact(text).text) if reason is None",
        "    return Usable(text) if reason is None",
        ("test_replies.py", "test_redaction_of_passes.py"),
    ),
)


def main() -> int:
    """Run the breaks and print what noticed each of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--only", metavar="RULE", help="only breaks of this rule")
    parser.add_argument("--keep", action="store_true", help="leave the copies of breaks that survive on disk")
    options = parser.parse_args()
    chosen = [one for one in BREAKS if options.only in (None, one.rule)]
    gone = [one for one in chosen if (CHECKOUT / one.module).read_text(encoding="utf-8").count(one.source) != 1]
    for one in gone:
        print(f"{one.rule:<5} {one.module} does not hold the source to be replaced exactly once", file=sys.stderr)
    if gone or not chosen:
        return 2
    survived = [one for one in chosen if not _is_noticed(one, options.keep)]
    print(f"{len(chosen) - len(survived)} of {len(chosen)} breaks were noticed")
    return 1 if survived else 0


def _is_noticed(one: Break, keep: bool) -> bool:
    folder = Path(tempfile.mkdtemp(prefix="broken-rule-"))
    try:
        _copy(folder)
        module = folder / one.module
        module.write_text(module.read_text(encoding="utf-8").replace(one.source, one.broken), encoding="utf-8")
        test = _failing_test(folder, [f"{TESTS}/{name}" for name in one.tests]) or _failing_elsewhere(folder)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{one.rule:<5} {one.what}: {test or 'NO TEST FAILS'}", flush=True)
    if test and keep:
        shutil.rmtree(folder, ignore_errors=True)
    return bool(test)


def _failing_elsewhere(folder: Path) -> str:
    """The first of all tests that fails on the broken copy and not on one that is whole."""
    whole = Path(tempfile.mkdtemp(prefix="whole-rules-"))
    try:
        _copy(whole)
        if fails_anyway := _failing_test(whole, [TESTS]):
            raise RuntimeError(f"{fails_anyway} fails although no rule is broken")
    finally:
        shutil.rmtree(whole, ignore_errors=True)
    return _failing_test(folder, [TESTS])


def _copy(folder: Path) -> None:
    for name in COPIED:
        source, target = CHECKOUT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
        elif source.exists():
            shutil.copy2(source, target)


def _failing_test(folder: Path, paths: Sequence[str]) -> str:
    """The first test that fails; empty when none does. Raises RuntimeError when the tests could not be run."""
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:django", *paths]
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "quick", "PYTHONPATH": str(folder)}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    if done.returncode == 1 and failed:
        return failed[0].removeprefix("FAILED ").partition(" - ")[0].removeprefix(f"{TESTS}/")
    if done.returncode != 0:
        raise RuntimeError(f"the tests could not be run:\n{done.stdout[-2_000:]}{done.stderr[-2_000:]}")
    return ""


if __name__ == "__main__":
    sys.exit(main())
