"""Processes that the site starts again: soon when they were at work, later and later when they never came so far."""

import pytest

from hermes_site.serve.child import LONGEST_PAUSE_AFTER_WORK_SECONDS, LONGEST_PAUSE_SECONDS, WELL_AFTER_SECONDS, Child
from tests.site.conftest import PATIENCE_SECONDS

AT_WORK = "import os, sys; os.write(int(sys.argv[-1]), b'1'); sys.stdin.read()"
NEVER_AT_WORK = "import sys; sys.exit(3)"


@pytest.fixture
def child_of(tmp_path):
    children = []

    def make(program):
        (tmp_path / "program_of_the_test.py").write_text(program)
        children.append(Child("web", "program_of_the_test", tmp_path))
        return children[-1]

    yield make
    for child in children:
        child.wait_or_kill(0)


def pauses_of(child, deaths, kill):
    """The pause after each death, when it comes right after the start."""
    pauses, now = [], 0.0
    child.start(now)
    for _ in range(deaths):
        if kill:
            while not child.is_ready:
                assert child.process.poll() is None
            child.process.kill()
        child.process.wait(PATIENCE_SECONDS)
        assert child.watch(now) == (-9 if kill else 3)
        pauses.append(child.pause_seconds)
        now += child.pause_seconds
        assert child.watch(now) is None
        assert child.process is not None
    return pauses


def test_a_child_that_never_comes_to_work_is_left_alone_longer_and_longer(child_of):
    assert pauses_of(child_of(NEVER_AT_WORK), 8, kill=False) == [0.5, 1, 2, 4, 8, 16, 30, LONGEST_PAUSE_SECONDS]


def test_a_child_that_was_at_work_is_soon_back_however_often_it_is_killed(child_of):
    assert pauses_of(child_of(AT_WORK), 5, kill=True) == [0.5, 1, 2, 2, LONGEST_PAUSE_AFTER_WORK_SECONDS]


def test_failed_starts_are_counted_from_the_last_time_it_was_at_work(child_of, tmp_path):
    child = child_of(AT_WORK)
    pauses_of(child, 6, kill=True)
    # The seventh is at work already, those that follow fail.
    while not child.is_ready:
        assert child.process.poll() is None
    (tmp_path / "program_of_the_test.py").write_text(NEVER_AT_WORK)
    child.process.kill()
    child.process.wait(PATIENCE_SECONDS)
    child.watch(child.started_at)
    assert pauses_of(child, 3, kill=False) == [0.5, 1, 2]


def test_a_child_that_lived_long_starts_from_the_shortest_pause_again(child_of):
    child = child_of(AT_WORK)
    pauses_of(child, 3, kill=True)
    child.process.kill()
    child.process.wait(PATIENCE_SECONDS)
    child.watch(child.started_at + WELL_AFTER_SECONDS + 1)
    assert child.pause_seconds == 0.5
