"""How far two histories overlap, found in time that grows with their lengths."""

import random

import pytest

from sessions_app.told_history import overlap_of


class Compared(str):
    """A digest that counts how often it is compared."""

    times = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Compared.times += 1
        return str.__eq__(self, other)

    def __ne__(self, other):
        return not self == other


def by_trying(stored, new):
    return next((n for n in range(min(len(stored), len(new)), 0, -1) if stored[-n:] == new[:n]), 0)


def test_the_overlap_is_the_longest_end_that_is_a_beginning():
    chance = random.Random(7)
    found = set()
    for _ in range(3_000):
        stored, new = ([chance.choice("ab") for _ in range(chance.randrange(9))] for _ in range(2))
        overlap = overlap_of(stored, new)
        assert overlap == by_trying(stored, new), (stored, new)
        found.add(overlap)
    assert len(found) > 5
    assert overlap_of([], ["a"]) == overlap_of(["a"], []) == 0


@pytest.mark.parametrize("end", ["a", "b"])
def test_histories_that_repeat_one_message_are_compared_a_few_times_each(end):
    length = 2_000
    stored = [Compared("a") for _ in range(length)] + [Compared(end)]
    new = [Compared("a") for _ in range(length)] + [Compared("c")]
    Compared.times = 0
    assert overlap_of(stored, new) == (length if end == "a" else 0)
    assert Compared.times < 10 * length
