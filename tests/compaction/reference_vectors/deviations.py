"""Deviations: where the engine rules differ from the recorded behaviour, each with its rule and its condition.

An entry names keys (with wildcards), the number of the engine rule, and a condition on the case. Conditions are
functions in `conditions` and `micro_conditions`; they see the case, the key and both values, never the case's id, and
where they can they work out anew what the rule demands, so an entry covers what the rule says and nothing else.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.compaction.reference_vectors import (
    batch_conditions,
    conditions,
    micro_conditions,
    prune_conditions,
    store_conditions,
)
from tests.compaction.reference_vectors.cases import OWN_FOLDER, Case, Difference
from tests.compaction.reference_vectors.condition_names import CONDITIONS

# Loading them makes their conditions known.
CONDITION_MODULES = (batch_conditions, conditions, micro_conditions, prune_conditions, store_conditions)
DEVIATIONS_FILE = OWN_FOLDER / "deviations.json"
RULE = re.compile(r"\d{1,2}(\.\d{1,2})?")


@dataclass(frozen=True)
class Deviation:
    """One entry of deviations.json."""

    name: str
    file: str
    area: str
    keys: tuple[str, ...]
    rule: str
    condition: str
    why: str

    def concerns(self, case: Case) -> bool:
        """Whether the entry is about this kind of case at all."""
        return case.file == self.file and self.area in ("", case.area)

    def covers(self, case: Case, difference: Difference) -> bool:
        """Whether the entry explains this difference."""
        if not self.concerns(case) or not any(fnmatchcase(difference.key, key) for key in self.keys):
            return False
        return CONDITIONS[self.condition](case, difference.key, difference.expected, difference.got)


def load_deviations() -> list[Deviation]:
    """All entries. A malformed one is an error of the file, not of a case."""
    found = [
        Deviation(**{**raw, "area": raw.get("area", ""), "keys": tuple(raw["keys"])})
        for raw in json.loads(DEVIATIONS_FILE.read_text(encoding="utf-8"))
    ]
    for entry in found:
        assert RULE.fullmatch(entry.rule), f"{entry.name}: {entry.rule!r} is not the number of a rule"
        assert entry.condition in CONDITIONS, f"{entry.name}: there is no condition {entry.condition!r}"
        assert entry.why, f"{entry.name}: no reason"
    return found
