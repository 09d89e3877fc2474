"""Everything that an unredacted export of this program holds of its session, record by record.

Must not interpret it: whoever keeps sessions knows what its columns mean. An export is whole or has no ledger: each of
its lists is there, and none has lost a record on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

Record = Mapping[str, object]
# The kinds of record by the names of their lists.
LISTS: Final = {
    "rows": "row",
    "passes": "pass",
    "summaries": "summary",
    "prompts": "prompt",
    "events": "event",
    "turns": "turn",
    "calls": "call",
}


class LedgerRow(NamedTuple):
    """What is needed of all rows at once. id: in the export; name: by which a second import finds the row again."""

    id: int
    name: str
    born_seq: int
    died_seq: int | None
    archived_by: int | None


@dataclass(frozen=True, slots=True)
class OwnLedger:
    """The records of one session. session: its facts. read: the records of one kind, in the order of the export."""

    session: Record
    rows: Sequence[LedgerRow]
    read: Callable[[str], Iterator[Record]]


def is_original(head: Record) -> bool:
    """Whether an export says of itself that it holds all of its session, and nothing masked."""
    facts = head.get("session")
    return head.get("redacted") is False and isinstance(facts, dict) and isinstance(facts.get("stored"), dict)
