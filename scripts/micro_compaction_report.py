#!/usr/bin/env python3
"""What micro compaction did, from the telemetry lines of agent logs: passes, occupancy, tokens, time, batches.

    python scripts/micro_compaction_report.py [--per-session] [--json] [LOGFILE ...]

Without a file it reads the first that exists of $HERMES_HOME/logs/agent.log, this project's var/logs/agent.log and
~/.hermes/logs/agent.log. Lines of other implementations are understood too; what can't be read is counted, not hidden.
Standard library only. Memory does not grow with the log: lines are read one by one, figures are counters, and sessions
beyond the first 10,000 are summed together.

Exit code: 0 when a log was read, also when there was no pass in it; 1 when no log could be read; 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

MICRO_PREFIX = b"micro compaction telemetry: "
BATCH_PREFIX = b"context compression attempt telemetry: "
MICRO_EVENT = "micro_compaction"
BATCH_EVENT = "compression_attempt"
UNKNOWN_SESSION, OTHER_SESSIONS = "(unknown)", "(other sessions)"
ABSORBED = "absorbed"
LONGEST_LINE_BYTES = 1_000_000
MOST_SESSIONS_IN_DETAIL = 10_000
MOST_SESSIONS_COUNTED = 500_000
MOST_OUTCOMES = 100
MOST_DISTINCT_VALUES = 20_000
SESSION_WIDTH = 26


@dataclass(slots=True)
class Spread:
    """Lowest, median and highest of many numbers, kept as counts by value.

    The median is the upper one of an even number. Beyond a number of distinct values they are kept to three digits.
    """

    counts: Counter[float] = field(default_factory=Counter)
    lowest: float = math.inf
    highest: float = -math.inf
    is_coarse: bool = False

    def add(self, value: float) -> None:
        """Count one more number."""
        self.lowest, self.highest = min(self.lowest, value), max(self.highest, value)
        self.counts[float(f"{value:.3g}") if self.is_coarse else value] += 1
        if len(self.counts) > MOST_DISTINCT_VALUES and not self.is_coarse:
            self._coarsen()

    def median(self) -> float:
        """The middle number; call it only when there is one."""
        left = self.counts.total() // 2
        for value in sorted(self.counts):
            left -= self.counts[value]
            if left < 0:
                return min(max(value, self.lowest), self.highest)
        return self.highest

    def as_json(self) -> dict[str, int] | None:
        """The three figures as whole numbers, None when nothing was counted."""
        if not self.counts:
            return None
        return {"min": round(self.lowest), "median": round(self.median()), "max": round(self.highest)}

    def _coarsen(self) -> None:
        self.is_coarse = True
        exact, self.counts = self.counts, Counter()
        for value, count in exact.items():
            self.counts[float(f"{value:.3g}")] += count


@dataclass(slots=True)
class Tally:
    """The figures of one session or of all of them."""

    passes: int = 0
    batch_attempts: int = 0
    batch_committed: int = 0
    tokens_delta: int = 0
    occupancy: Spread = field(default_factory=Spread)

    def add_micro(self, line: dict[str, Any]) -> None:
        """Count a pass. A missing or null number of tokens changes nothing."""
        self.passes += 1
        self.tokens_delta += int(number(line.get("tokens_delta")) or 0)
        occupancy = number(line.get("occupancy_pct"))
        if occupancy is not None:
            self.occupancy.add(round(occupancy))

    def add_batch(self, line: dict[str, Any]) -> None:
        """Count a batch attempt, and apart from that whether it was committed."""
        self.batch_attempts += 1
        self.batch_committed += line.get("commit_status") == "committed"


@dataclass(slots=True)
class Report:
    """What the lines of all logs add up to. Running totals in the lines are not used: they restart with a process."""

    logs: list[str] = field(default_factory=list)
    lines: int = 0
    total: Tally = field(default_factory=Tally)
    sessions: dict[str, Tally] = field(default_factory=dict)
    session_hashes: set[int] = field(default_factory=set)
    outcomes: Counter[str] = field(default_factory=Counter)
    durations: Spread = field(default_factory=Spread)
    without_duration: int = 0
    absorbed_tokens: int = 0
    absorbed_without_tokens: int = 0
    cache_break_passes: int = 0
    cache_break_tokens: int = 0
    without_cache_figure: int = 0
    unreadable: Counter[str] = field(default_factory=Counter)

    def add_line(self, line: bytes) -> None:
        """Count one line of a log. Lines without telemetry are passed over."""
        self.lines += 1
        for prefix, event, add in (
            (MICRO_PREFIX, MICRO_EVENT, self._add_micro),
            (BATCH_PREFIX, BATCH_EVENT, self._add_batch),
        ):
            _, found_prefix, text = line.partition(prefix)
            if found_prefix:
                found = decoded(text, event)
                self.unreadable.update([found]) if isinstance(found, str) else add(found)
                return

    def _add_micro(self, line: dict[str, Any]) -> None:
        self._session(line, has_passes=True).add_micro(line)
        self.total.add_micro(line)
        outcome = word(line.get("outcome"), "?")
        self.outcomes[outcome if outcome in self.outcomes or len(self.outcomes) < MOST_OUTCOMES else "(other)"] += 1
        duration = number(line.get("duration_ms"))
        self.without_duration += duration is None
        self.durations.add(duration or 0)
        if outcome == ABSORBED:
            tokens = number(line.get("exchange_tokens"))
            self.absorbed_without_tokens += tokens is None
            self.absorbed_tokens += int(tokens or 0)
        self._add_cache_break(number(line.get("cache_break")))

    def _add_cache_break(self, tokens: float | None) -> None:
        if tokens is None:
            self.without_cache_figure += 1
        elif tokens > 0:
            self.cache_break_passes += 1
            self.cache_break_tokens += int(tokens)

    def _add_batch(self, line: dict[str, Any]) -> None:
        self._session(line, has_passes=False).add_batch(line)
        self.total.add_batch(line)

    def _session(self, line: dict[str, Any], *, has_passes: bool) -> Tally:
        """The figures of the line's session. Only sessions with micro passes count as sessions."""
        name = word(line.get("session_id"), UNKNOWN_SESSION)
        if has_passes and len(self.session_hashes) < MOST_SESSIONS_COUNTED:
            self.session_hashes.add(hash(name))
        if name not in self.sessions and len(self.sessions) >= MOST_SESSIONS_IN_DETAIL:
            name = OTHER_SESSIONS
        return self.sessions.setdefault(name, Tally())


def decoded(text: bytes, event: str) -> dict[str, Any] | str:
    """The JSON object of a telemetry line, or why it can't be counted. A line that names another event is not ours."""
    try:
        found = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return "not JSON"
    if not isinstance(found, dict):
        return "not an object"
    return found if found.get("event", event) == event else "another event"


def number(value: object) -> float | None:
    """A finite number of sensible size, None for anything else, truth values included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < 1e15 else None


def word(value: object, missing: str) -> str:
    """A short printable text; `missing` when there is none. A log must not be able to drive a terminal."""
    if value is None or value == "":
        return missing
    text = str(value)[:200]
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def read_lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """The lines of a log; None stands for one that is longer than any telemetry line."""
    while line := stream.readline(LONGEST_LINE_BYTES):
        if line.endswith(b"\n") or len(line) < LONGEST_LINE_BYTES:
            yield line
            continue
        while (rest := stream.readline(LONGEST_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass
        yield None


def read_log(path: Path, report: Report) -> None:
    """Add a log to the report. Raises OSError when it can't be read."""
    with path.open("rb") as stream:
        for line in read_lines(stream):
            if line is None:
                report.lines += 1
                report.unreadable["too long"] += 1
            else:
                report.add_line(line)
    report.logs.append(str(path))


def default_logs() -> list[Path]:
    """Where a log is looked for when none is named, in order."""
    home = os.environ.get("HERMES_HOME")
    homes = [Path(home)] if home else []
    homes += [Path(__file__).resolve().parent.parent / "var", Path.home() / ".hermes"]
    return [folder / "logs" / "agent.log" for folder in homes]


def as_json(report: Report, per_session: bool) -> dict[str, Any]:
    """The report as plain values. Numbers are numbers; what is not known is null."""
    absorbed, committed = report.outcomes[ABSORBED], report.total.batch_committed
    found: dict[str, Any] = {
        "logs": report.logs,
        "lines": report.lines,
        "passes": report.total.passes,
        "sessions": len(report.session_hashes),
        "occupancy_pct": report.total.occupancy.as_json(),
        "outcomes": dict(report.outcomes.most_common()),
        "batch_compactions": committed,
        "batch_attempts": report.total.batch_attempts,
        "micro_passes_per_batch": round(report.total.passes / committed, 1) if committed else None,
        "duration_ms": report.durations.as_json(),
        "passes_without_duration": report.without_duration,
        "net_tokens_saved": -report.total.tokens_delta,
        "absorbed": absorbed,
        "mean_exchange_tokens": report.absorbed_tokens // absorbed if absorbed else None,
        "absorbed_without_tokens": report.absorbed_without_tokens,
        "cache_breaks": report.cache_break_passes,
        "cache_break_tokens": report.cache_break_tokens,
        "passes_without_cache_figure": report.without_cache_figure,
        "unreadable_lines": report.unreadable.total(),
        "unreadable_reasons": dict(report.unreadable.most_common()),
    }
    if per_session:
        found["per_session"] = [session_as_json(name, tally) for name, tally in ordered_sessions(report)]
    return found


def as_json_text(report: Report, per_session: bool) -> str:
    """The report for programs."""
    return json.dumps(as_json(report, per_session), indent=2)


def ordered_sessions(report: Report) -> list[tuple[str, Tally]]:
    """Sessions with micro passes, those with most passes first."""
    sessions = [(name, tally) for name, tally in report.sessions.items() if tally.passes]
    return sorted(sessions, key=lambda named: -named[1].passes)


def session_as_json(name: str, tally: Tally) -> dict[str, Any]:
    """One session's figures as plain values."""
    return {
        "session_id": name,
        "passes": tally.passes,
        "occupancy_pct": tally.occupancy.as_json(),
        "batch_compactions": tally.batch_committed,
        "batch_attempts": tally.batch_attempts,
        "net_tokens_saved": -tally.tokens_delta,
    }


def as_text(report: Report, per_session: bool) -> str:
    """The report for people."""
    lines = [f"Micro-compaction report: {', '.join(report.logs)} ({report.lines:,} lines)", ""]
    if not report.total.passes:
        lines += ["No micro-compaction pass in this log. Passes are off unless compression.micro_compact is true.", ""]
    figures = pass_figures(report) if report.total.passes else []
    figures += [("Batch compactions", batch_text(report)), ("Unreadable lines", unreadable_text(report))]
    lines += [f"{name:<24}{value}" for name, value in figures]
    if per_session and report.total.passes:
        lines += ["", *session_table(report)]
    return "\n".join(lines)


def pass_figures(report: Report) -> list[tuple[str, str]]:
    """Name and text of every figure about passes."""
    sessions, absorbed = len(report.session_hashes), report.outcomes[ABSORBED]
    figures = [
        ("Occupancy", occupancy_text(report.total.occupancy)),
        ("Sessions", f"{sessions:,}" + (" or more" if sessions >= MOST_SESSIONS_COUNTED else "")),
        ("Micro passes", f"{report.total.passes:,}"),
        *((f"  {outcome:<21} ", f"{count:,}") for outcome, count in report.outcomes.most_common()),
        ("Duration", duration_text(report)),
        ("Net tokens saved", saved_text(-report.total.tokens_delta)),
    ]
    if absorbed:
        mean = f"{report.absorbed_tokens // absorbed:,} tokens each on average"
        note = without_figure(report.absorbed_without_tokens)
        figures.append(("Absorbed exchanges", f"{absorbed:,}, {mean}{note}"))
    return [*figures, ("Cache breaks", cache_text(report))]


def without_figure(passes: int, how: str = " counted as 0") -> str:
    """The note about passes whose line lacks a figure; empty when there are none."""
    return f" ({passes:,} pass{'' if passes == 1 else 'es'} without a figure{how})" if passes else ""


def occupancy_text(occupancy: Spread) -> str:
    """Lowest, median and highest share of the threshold after a pass."""
    found = occupancy.as_json()
    if found is None:
        return "unavailable (the threshold was not known)"
    return f"{found['min']} % lowest, {found['median']} % median, {found['max']} % highest"


def duration_text(report: Report) -> str:
    """Median and longest time of a pass."""
    found = report.durations.as_json() or {"median": 0, "max": 0}
    about = "about " if report.durations.is_coarse else ""
    return f"{about}{found['median']:,} ms median, {found['max']:,} ms longest{without_figure(report.without_duration)}"


def saved_text(saved: int) -> str:
    """Net tokens with their sign, and in words when there was no saving."""
    words = f": the passes made the context larger by {-saved:,} tokens" if saved < 0 else ""
    return f"{saved:+,}{words}"


def cache_text(report: Report) -> str:
    """What broken prompt caches cost, as far as the log says."""
    told = report.total.passes - report.without_cache_figure
    if not told:
        return "not recorded in this log"
    note = without_figure(report.without_cache_figure, how="")
    return f"{report.cache_break_passes:,} of {told:,} passes, {report.cache_break_tokens:,} tokens billed again{note}"


def batch_text(report: Report) -> str:
    """Committed batch compactions, and attempts apart."""
    committed, attempts = report.total.batch_committed, report.total.batch_attempts
    if not attempts:
        return "0 (none was attempted)"
    each = f", one per {report.total.passes / committed:.1f} micro passes" if committed and report.total.passes else ""
    return f"{committed:,} committed of {attempts:,} attempted{each}"


def unreadable_text(report: Report) -> str:
    """How many telemetry lines could not be counted, and why."""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in report.unreadable.most_common())
    return f"{report.unreadable.total():,}" + (f" ({reasons})" if reasons else "")


def session_table(report: Report) -> list[str]:
    """One line per session: id, passes, occupancy, batches, tokens saved."""
    rows = [f"{'session':<{SESSION_WIDTH}} {'passes':>8}  {'occupancy %':<22} {'batch':>6} {'saved':>14}"]
    for name, tally in ordered_sessions(report):
        found = tally.occupancy.as_json()
        spread = "unavailable" if found is None else f"{found['min']}-{found['max']} (med {found['median']})"
        figures = f"{tally.passes:>8,}  {spread:<22} {tally.batch_committed:>6,} {-tally.tokens_delta:>+14,}"
        rows.append(f"{name[:SESSION_WIDTH]:<{SESSION_WIDTH}} {figures}")
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Read the logs and print the report; the exit code is described at the top."""
    parser = argparse.ArgumentParser(description="What micro compaction did, from the telemetry lines of agent logs.")
    parser.add_argument("logs", nargs="*", type=Path, metavar="LOGFILE", help="logs to read; default: the usual place")
    parser.add_argument("--per-session", action="store_true", help="a line for each session as well")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args(arguments)
    report = Report()
    paths = options.logs or [path for path in default_logs() if path.is_file()][:1]
    if not paths:
        print(f"no log found at {', '.join(map(str, default_logs()))}", file=sys.stderr)
    for path in paths:
        try:
            read_log(path, report)
        except OSError as error:
            print(f"{path}: {error.strerror or error}", file=sys.stderr)
    show = as_json_text if options.json else as_text
    print(show(report, options.per_session))
    return 0 if report.logs else 1


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]  # a text stream here
    sys.exit(main())
