"""What developers' tools print: test runs, benches, listings. Names are the checkout's, figures are made up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import Final

from sessions_app.samples.scene import Scene
from sessions_app.samples.server_logs import postgres_lines, telemetry_lines, web_lines, worker_lines

Filler = Callable[[Scene, str], Iterator[str]]

_TEST: Final = re.compile(r"^\s*(?:async )?def (test_\w+)")
SUBJECTS: Final = (
    "Say in the error which key is out of range", "Keep the cursor where it was when a pass fails",
    "Count a picture once, not once per part", "Refuse a policy file with duplicate keys",
    "Give the tail's soft ceiling its own name", "Close the file when a line is not JSON",
    "Test that a call and its results stay together", "Move the frame of the summary into one place",
    "Show unknown tokens as unknown", "Read the window from the source when it states one",
    "Name the rule each deviation rests on", "Let an empty reply be a named failure",
    "Log one line per pass and none for nothing", "Stop reading a store that is locked for good",
    "Sort sessions by last activity, then id", "Draw a gap where occupancy is unknown",
    "Pin what the browser tests need", "Explain in the settings what a floor does",
)  # fmt: skip


def pytest_lines(scene: Scene, words: str) -> Iterator[str]:
    """Verbose results of the tests in the named files; `{pct}` is filled in when the number of lines is known."""
    for path in words.split():
        for name in test_names(scene, path):
            yield f"{path}::{name} PASSED [{{pct}}%]"


def test_names(scene: Scene, path: str) -> Iterator[str]:
    """The file's own tests; where there is no such file, one for each symbol of what it would test."""
    if path in scene.checkout.files:
        lines = scene.checkout.files[path].lines
        yield from (match[1] for match in map(_TEST.match, lines) if match)
        return
    scene.checkout.missing.add(path)
    tested = path.replace("tests/", "", 1).replace("test_", "")
    yield from (f"test_{symbol.name.strip('_').lower()}" for symbol in scene.checkout.file(tested).symbols)


def bench_lines(scene: Scene, words: str) -> Iterator[str]:
    """A bench table's rows: what was measured, at which size, median and spread."""
    names = words.split() or ["plan", "settle"]
    for size in (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000):
        for name in names:
            median = scene.random.uniform(0.62, 0.81)
            spread = scene.random.uniform(0.02, 0.09)
            yield f"{name:<24} rows={size:>7,}  median {median:.3f} ms  p95 {median + spread:.3f} ms  n=400"


def count_lines(scene: Scene, words: str) -> Iterator[str]:
    """`wc -l` over a folder: real figures."""
    for file in scene.checkout.below(words or "."):
        yield f"{len(file.lines):>6} {file.path}"


def listing_lines(scene: Scene, words: str) -> Iterator[str]:
    """Names of the files in a folder."""
    for file in scene.checkout.below(words or "."):
        yield file.path


def source_lines(scene: Scene, words: str) -> Iterator[str]:
    """A file's lines as `cat` shows them, from a symbol on when one is named."""
    path, _, name = words.partition(" ")
    start = scene.checkout.symbol(path, name).line if name else 1
    yield from scene.checkout.file(path).lines[start - 1 :]


def commit_lines(scene: Scene, words: str) -> Iterator[str]:
    """`git log --oneline`, newest first. Subjects are made up: an installed copy has no history to ask."""
    history = Random(f"history before {scene.day}")
    subjects = list(SUBJECTS)
    history.shuffle(subjects)
    for subject in subjects:
        yield f"{history.getrandbits(28):07x} {subject}"


def change_lines(scene: Scene, words: str) -> Iterator[str]:
    """`git diff --stat` of what the session has edited so far in the named places."""
    places = tuple("" if place == "." else place for place in (words or ".").split())
    edits = {path: edit for path, edit in sorted(scene.checkout.edits.items()) if path.startswith(places)}
    for path, edit in edits.items():
        bars = "+" * min(edit.added, 24) + "-" * min(edit.removed, 12)
        yield f" {path:<52} | {edit.added + edit.removed:>3} {bars}"
    added, removed = sum(edit.added for edit in edits.values()), sum(edit.removed for edit in edits.values())
    yield f" {len(edits)} files changed, {added} insertions(+), {removed} deletions(-)"


def import_lines(scene: Scene, words: str) -> Iterator[str]:
    """One line per imported file, as `import_sessions` reports them; with the word `again`, of a second import."""
    for number in count(1):
        rows = scene.random.randrange(12, 900)
        skipped = scene.random.choice((0, 0, 0, 0, 1, 3))
        counts = f"0 rows added, {rows} already present" if words == "again" else f"{rows} rows added"
        note = f", {skipped} lines skipped (unparsable_line)" if skipped else ""
        yield f"export/2026-11-{number % 24 + 1:02}_{scene.random.getrandbits(24):06x}.jsonl: {counts}{note}"


FILLERS: Final[dict[str, Filler]] = {
    "bench": bench_lines,
    "changes": change_lines,
    "commits": commit_lines,
    "count": count_lines,
    "imports": import_lines,
    "listing": listing_lines,
    "postgres": postgres_lines,
    "pytest": pytest_lines,
    "source": source_lines,
    "telemetry": telemetry_lines,
    "web": web_lines,
    "worker": worker_lines,
}
