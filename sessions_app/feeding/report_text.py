"""A feed's report in words: the line that moves while it runs, and what stands at its end."""

from __future__ import annotations

from sessions_app.feeding.figures import FeedReport


def progress_text(report: FeedReport) -> str:
    """How far it is, in one line."""
    parts = [
        f"{report.sessions_done} of {report.sessions} sessions",
        f"{report.rows_added:,} rows",
        f"{report.turns:,} turns",
        f"{report.appends_per_second:,.1f} appends/s",
    ]
    if report.p95_ms is not None:
        parts.append(f"p95 {report.p95_ms:,.0f} ms")
    if report.retries:
        parts.append(f"{sum(count for _, count in report.retries):,} tried again")
    return " · ".join(parts)


def report_text(report: FeedReport) -> str:
    """What came of it, a line for each thing."""
    return "\n".join([*figure_lines(report), *outcome_lines(report)])


def figure_lines(report: FeedReport) -> list[str]:
    lines = [
        f"sessions   {report.sessions_done} of {report.sessions} played to their end",
        f"rows       {report.rows_added:,} stored, {report.rows_there:,} were there already",
        f"turns      {report.turns:,} finished",
        f"appends    {report.appends:,} in {report.seconds:,.1f} s, {report.appends_per_second:,.1f} a second",
    ]
    if report.p50_ms is not None and report.p95_ms is not None:
        lines.append(f"latency    p50 {report.p50_ms:,.1f} ms, p95 {report.p95_ms:,.1f} ms an append")
    causes = ", ".join(f"{count:,} × {cause}" for cause, count in report.retries)
    lines.append(f"again      {causes or 'nothing'}")
    return lines


def outcome_lines(report: FeedReport) -> list[str]:
    lines = [f"given up   {failure}" for failure in report.failed]
    if report.was_stopped:
        lines.append("Stopped. The same command goes on where it stopped.")
    elif report.rows_there and not report.rows_added:
        lines.append("Everything was there already: --run NAME plays it anew.")
    return lines
