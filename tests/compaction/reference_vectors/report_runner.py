"""Runner for the report script: the recorded logs on disk, the script as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.compaction.reference_vectors.cases import Case, vectors_folder

SCRIPT = Path(__file__).parents[3] / "scripts" / "micro_compaction_report.py"
NO_DATA = "No micro-compaction pass in this log"


def run_report(case: Case) -> dict[str, Any]:
    """The script's figures, exit code and messages for the recorded logs."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [*case.config["args"], *_logs(case, Path(folder))]
        environment = _environment(case, Path(folder))
        shown = _run(arguments, environment)
        counted = _run([*arguments, "--json"], environment).stdout
    found = json.loads(counted) if counted.startswith("{") else None
    return {
        "exit_code": shown.returncode,
        "figures": _figures(found) if found and found["passes"] else None,
        "no_data_message": NO_DATA in shown.stdout,
        "stdout_line_count": shown.stdout.count("\n"),
        "stderr_warning": bool(shown.stderr.strip()),
        "error": "Traceback" in shown.stderr,
    }


def _logs(case: Case, folder: Path) -> list[str]:
    """Write the case's logs and name them as it does: not at all where the default place is meant."""
    if "file" in case.input:
        return [str((vectors_folder() / case.input["file"]).resolve())]
    for name, content in case.input["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, dict):
            path.write_bytes(bytes.fromhex(content["bytes_hex"]))
        else:
            path.write_text("\n".join(content) + "\n", encoding="utf-8")
    named = [] if case.config["default_log_used"] else [str(folder / name) for name in case.input["files"]]
    return named + [str(folder / "missing.log")] * bool(case.config["extra_missing_file"])


def _environment(case: Case, folder: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in ("HERMES_HOME", "RABBIT_HOME")}
    named = {name: str(folder / value) for name, value in case.config.get("env", {}).items()}
    return {**inherited, "HOME": str(folder), **named}


def _run(arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)


def _figures(found: dict[str, Any]) -> dict[str, Any]:
    """The figures in the spelling of the cases: texts, as they were printed."""
    figures = {
        "occupancy": _texts(found["occupancy_pct"]) or "unavailable",
        "batch_compactions": f"{found['batch_compactions']:,}",
        "micro_passes_each": found["micro_passes_per_batch"] and f"{found['micro_passes_per_batch']:.1f}",
        "none_fired_note": not found["batch_compactions"],
        "sessions": f"{found['sessions']:,}",
        "passes": f"{found['passes']:,}",
        "outcomes_in_order": [[name, f"{count:,}"] for name, count in found["outcomes"].items()],
        "duration_ms": {name: f"{found['duration_ms'][name]:,}" for name in ("median", "max")},
        "net_tokens_saved": f"{found['net_tokens_saved']:+,}",
        "absorbed": found["absorbed"]
        and {"count": f"{found['absorbed']:,}", "mean_tokens": f"{found['mean_exchange_tokens']:,}"}
        or None,
    }
    if "per_session" in found:
        figures["per_session_rows"] = [_session_row(row) for row in found["per_session"]]
    return figures


def _texts(spread: dict[str, int] | None) -> dict[str, str] | None:
    return spread and {name: f"{value:,}" for name, value in spread.items()}


def _session_row(row: dict[str, Any]) -> list[str]:
    spread = row["occupancy_pct"]
    occupancy = f"{spread['min']}-{spread['max']} (med {spread['median']})" if spread else "unavailable"
    return [
        row["session_id"][:26],
        f"{row['passes']:,}",
        occupancy,
        f"{row['batch_compactions']:,}",
        f"{row['net_tokens_saved']:+,}",
    ]
