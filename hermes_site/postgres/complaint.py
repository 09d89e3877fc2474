"""Turns what PostgreSQL's programs print when they fail into one sentence for the operator."""

import re
from pathlib import Path

from hermes_site.postgres.errors import ServerUnavailable

LAST_BYTES = 16_384
CAUSES: tuple[tuple[str, str], ...] = (
    (r"No space left on device", "there is no space left on the disk of {data}; free some and start again"),
    (r"Disk quota exceeded", "the disk quota for {data} is used up; free some space and start again"),
    (r"Read-only file system", "{data} is on a read-only file system; set HERMES_SITE_VAR_DIR to a writable folder"),
    (
        r"could not create Unix socket|could not bind Unix|lock file \"[^\"]*\.s\.PGSQL[^\"]*\" already exists",
        "its socket in {sockets} is taken by another server; stop that server or remove the folder",
    ),
    (
        r"lock file \"postmaster\.pid\" already exists",
        "another server already runs on {data}; stop it and start again",
    ),
    (
        r"database files are incompatible with server",
        "the data in {data} was written by another version of PostgreSQL",
    ),
    (
        r"could not (?:create|map|resize) (?:anonymous )?shared memory|could not create semaphores",
        "the machine refuses it shared memory or semaphores; free memory or raise the limits",
    ),
    (r"Permission denied", "a permission is missing: {line}"),
    (r"invalid locale name|locale .* not (?:found|supported)", "this machine lacks the locale C.UTF-8: {line}"),
)


def complaint(deed: str, output: str, data: Path, sockets: Path, log: Path | None = None) -> ServerUnavailable:
    """The error for `deed` ("start", "be set up") having failed with this output."""
    line = telling_line(output)
    for pattern, cause in CAUSES:
        if re.search(pattern, output):
            reason = cause.format(data=data, sockets=sockets, line=line)
            break
    else:
        reason = line or "it said nothing"
    where = f" (log: {log})" if log else ""
    return ServerUnavailable(f"The database could not {deed}: {reason}{where}.")


def telling_line(output: str) -> str:
    """The last line that reports an error, without its time stamp; else the last line at all."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in reversed(lines):
        if match := re.search(r"(?:PANIC|FATAL|ERROR|error):\s*(.+)", line):
            return match.group(1).rstrip(".")
    return lines[-1].rstrip(".") if lines else ""


def read_log_from(log: Path, offset: int) -> str:
    """What was added to the log since `offset`, at most the last few kilobytes."""
    try:
        with log.open("rb") as file:
            end = file.seek(0, 2)
            file.seek(max(offset, end - LAST_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
