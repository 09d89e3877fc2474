"""What every generator of text is given: the checkout, its own random numbers, and the day. A value.

Random numbers come from a seed made of names only, so a sample changes where its files change and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from sessions_app.samples.checkout import Checkout


@dataclass(frozen=True, slots=True)
class Scene:
    """`day` is an ISO date, which logs begin their lines with."""

    checkout: Checkout
    random: Random
    day: str


def scene_of(checkout: Checkout, day: str, *names: object) -> Scene:
    """A scene whose random numbers depend on `names` alone."""
    return Scene(checkout, Random("/".join(str(name) for name in names)), day)


def pick_weighted(random: Random, choices: tuple[tuple[int, str], ...]) -> str:
    """One of the texts, each as likely as its weight."""
    return random.choices([text for _, text in choices], [weight for weight, _ in choices])[0]
