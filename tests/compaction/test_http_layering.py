"""Only the files that say so in their names talk HTTP."""

import ast
from pathlib import Path

import compaction

ROOT = Path(compaction.__file__).parent
TALKERS = {"httpx", "httpcore", "socket", "ssl", "http", "urllib.request", "requests"}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_only_http_modules_of_the_engine_import_what_talks_to_others():
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if TALKERS.intersection(name if name in TALKERS else name.partition(".")[0] for name in imported(path))
    }
    talkers = ("client", "connection", "faults", "line")
    assert found == {f"endpoints/http_{name}.py" for name in talkers}
