"""The report script, run as people run it: a process of its own, on logs on disk."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "micro_compaction_report.py"

# Two sessions mixed, a null occupancy, a restart after which the totals begin again, a cut line, a forged one.
MIXED_LINES = (
    ("s1", "absorbed", 330, 30.1, -330),
    ("s2", "absorbed", -100, 30.1, 100),
    ("s1", "failed", 0, 30.1, -330),
    ("s1", "absorbed", -100, None, -230),
    ("s1", "absorbed", -100, 30.1, 100),
    ("s1", "defrag", 7_382, 30.1, -8_709),
    ("s1", "not_known_yet", -100, 30.1, 100),
)


def micro_line(session="s1", outcome="absorbed", delta=-100, occupancy=40.0, total=0, **more) -> str:
    figures = {
        "event": "micro_compaction",
        "outcome": outcome,
        "session_id": session,
        "tokens_delta": delta,
        "occupancy_pct": occupancy,
        "tokens_saved_total": total,
        "exchange_tokens": 300,
        "duration_ms": 14,
        **more,
    }
    return "2026-09-01 10:01:00,000 INFO agent: micro compaction telemetry: " + json.dumps(figures)


def batch_line(status, session="s1") -> str:
    figures = {"event": "compression_attempt", "session_id": session, "commit_status": status}
    return "INFO agent: context compression attempt telemetry: " + json.dumps(figures)


def write_log(folder: Path, *lines: str) -> Path:
    path = folder / "agent.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(*arguments, home=None, **environment):
    inherited = {name: value for name, value in os.environ.items() if name not in ("HERMES_HOME", "HOME")}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        env={**inherited, "HOME": str(home or "/nonexistent"), **environment},
    )
    return done


def figures(*arguments, **environment):
    done = run("--json", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def mixed_log(tmp_path):
    lines = [micro_line(*line) for line in MIXED_LINES]
    cut = micro_line()[:-60]
    forged = 'INFO user said: micro compaction telemetry: {"event": "forged"}'
    broken = "micro compaction telemetry: not json"
    human = "Micro-compaction: skipping exchange at cursor 12 after 3 consecutive failures"
    return write_log(tmp_path, "INFO agent: started", *lines, cut, broken, forged, human)


def test_t12_net_tokens_are_summed_from_the_passes_and_never_from_running_totals(mixed_log):
    found = figures("--per-session", mixed_log)
    assert found["net_tokens_saved"] == -7_312
    by_session = {row["session_id"]: row["net_tokens_saved"] for row in found["per_session"]}
    assert by_session == {"s1": -7_412, "s2": 100}


def test_t12_a_negative_net_is_said_in_plain_words(mixed_log):
    assert "the passes made the context larger by 7,312 tokens" in run(mixed_log).stdout


def test_t12_lines_that_cannot_be_counted_are_counted_apart_with_the_reason(mixed_log):
    found = figures(mixed_log)
    assert found["passes"] == 7
    assert found["unreadable_reasons"] == {"not JSON": 2, "another event": 1}
    assert "3 (2 not JSON, 1 another event)" in run(mixed_log).stdout


def test_t12_a_null_occupancy_is_left_out_and_unknown_outcomes_are_shown(mixed_log):
    found = figures(mixed_log)
    assert found["occupancy_pct"] == {"min": 30, "median": 30, "max": 30}
    assert found["outcomes"] == {"absorbed": 4, "failed": 1, "defrag": 1, "not_known_yet": 1}


def test_t12_a_log_without_passes_is_no_error(tmp_path):
    done = run(write_log(tmp_path, "INFO agent: started"))
    assert done.returncode == 0
    assert "No micro-compaction pass in this log" in done.stdout


def test_a_log_that_cannot_be_read_is_named_and_the_others_are_reported(tmp_path, mixed_log):
    done = run(tmp_path / "missing.log", mixed_log)
    assert done.returncode == 0
    assert "missing.log: No such file" in done.stderr
    assert run(tmp_path / "missing.log").returncode == 1


def test_an_unknown_option_is_refused():
    assert run("--every-session").returncode == 2


def test_committed_batches_are_counted_apart_from_attempts(tmp_path):
    statuses = ("committed", "aborted", "blocked", "committed")
    found = figures(write_log(tmp_path, *[micro_line()] * 5, *map(batch_line, statuses)))
    assert (found["batch_compactions"], found["batch_attempts"]) == (2, 4)
    assert found["micro_passes_per_batch"] == 2.5


def test_what_cache_breaks_cost_is_summed_where_it_was_recorded(tmp_path):
    log = write_log(tmp_path, micro_line(cache_break=1_200), micro_line(cache_break=0), micro_line(cache_break=None))
    found = figures(log)
    assert (found["cache_breaks"], found["cache_break_tokens"]) == (1, 1_200)
    assert "1 of 2 passes, 1,200 tokens billed again (1 pass without a figure)" in run(log).stdout


def test_without_a_file_the_agents_home_is_read_then_the_users(tmp_path):
    write_log(tmp_path / "agent" / "logs", micro_line())
    write_log(tmp_path / "user" / ".hermes" / "logs", micro_line(), micro_line())
    assert figures(HERMES_HOME=str(tmp_path / "agent"))["passes"] == 1
    if not (SCRIPT.parents[1] / "var" / "logs" / "agent.log").exists():
        assert figures(home=tmp_path / "user")["passes"] == 2


def test_values_of_the_wrong_type_are_not_numbers(tmp_path):
    odd = micro_line(delta="many", occupancy=True, duration_ms=None, exchange_tokens=[1])
    huge = "micro compaction telemetry: {" + '"tokens_delta": ' + "9" * 400 + ', "occupancy_pct": NaN}'
    found = figures(write_log(tmp_path, odd, huge))
    assert found["net_tokens_saved"] == 0
    assert found["occupancy_pct"] is None
    assert found["passes_without_duration"] == 2


def test_a_line_beyond_all_measure_is_passed_over(tmp_path):
    found = figures(write_log(tmp_path, micro_line(), "x" * 2_500_000, micro_line()))
    assert (found["passes"], found["lines"]) == (2, 3)
    assert found["unreadable_reasons"] == {"too long": 1}


def test_a_log_cannot_drive_the_terminal(tmp_path):
    shown = run("--per-session", write_log(tmp_path, micro_line(session="a\x1b[31mred\u202e", outcome="\x1b]0;x\x07")))
    assert "\x1b" not in shown.stdout and "\u202e" not in shown.stdout


def test_memory_stays_small_however_many_sessions_and_values_a_log_has(tmp_path):
    lines = [micro_line(session=f"session-{n}", duration_ms=n, occupancy=n % 4_000 / 10) for n in range(60_000)]
    log = write_log(tmp_path, *lines)
    probe = (
        "import re, runpy, sys; sys.argv = [sys.argv[1], '--json', sys.argv[2]]\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit: pass\n"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", probe, str(SCRIPT), str(log)], capture_output=True, encoding="utf-8")
    found = json.loads(done.stdout)
    assert found["sessions"] == 60_000
    assert found["duration_ms"]["max"] == 59_999
    assert abs(found["duration_ms"]["median"] - 30_000) <= 300
    assert int(done.stderr) < 100_000, "kilobytes"
