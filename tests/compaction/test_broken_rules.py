"""The list of rules that are broken on purpose: each break still fits the source, and the documentation names it."""

import runpy
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
BREAKS = runpy.run_path(str(CHECKOUT / "scripts" / "break_rules.py"))["BREAKS"]


@pytest.mark.parametrize("broken", BREAKS, ids=lambda one: one.rule)
def test_a_break_replaces_one_piece_of_source_by_another_that_can_be_read(broken):
    source = (CHECKOUT / broken.module).read_text(encoding="utf-8")
    assert source.count(broken.source) == 1
    compile(source.replace(broken.source, broken.broken), broken.module, "exec")


def test_the_documentation_lists_every_break():
    documented = (CHECKOUT / "docs" / "engine.md").read_text(encoding="utf-8").splitlines()
    assert len(BREAKS) >= 10
    assert all(f"| {one.rule} | {one.what} |" in documented for one in BREAKS)
