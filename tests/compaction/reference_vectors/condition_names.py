"""The names under which deviations refer to conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.compaction.reference_vectors.cases import Case

Condition = Callable[[Case, str, Any, Any], bool]
CONDITIONS: dict[str, Condition] = {}


def condition(function: Condition) -> Condition:
    """Make a condition known by its name."""
    CONDITIONS[function.__name__] = function
    return function
