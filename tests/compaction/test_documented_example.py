"""The example in docs/engine.md runs as it stands."""

import re
from pathlib import Path

import compaction

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "engine.md"


def test_the_worked_example_runs():
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1
    names = {}
    exec(compile(blocks[0], str(DOCUMENT), "exec"), names)
    assert names["state"].passes_total == 10


def test_everything_that_is_public_exists():
    assert [name for name in compaction.__all__ if not hasattr(compaction, name)] == []
