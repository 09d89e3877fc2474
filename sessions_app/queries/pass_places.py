"""Where a pass stands among the rows of its session when none of them tells by being archived by it.

A pass that looked at an exchange stands at it, a defrag at the cursor, any other behind the newest row that was there
when it ran. Passes that archived rows stand where those rows are and need no place of their own.
"""

from __future__ import annotations

from compaction.messages import RowKind
from sessions_app.models import CompactionPass, MessageRow

# Position and id, in which order the rows of a session lie.
Place = tuple[int, int]
# The rows that a reader walks over; a summary belongs to the pass that made it.
STANDING_KINDS = (RowKind.MESSAGE.value, RowKind.PRUNE_STUB.value)


def place_of(made_by: CompactionPass) -> Place:
    """In front of which row a pass stands, or would stand if it had archived none."""
    if made_by.exchanges:
        position, row_id = made_by.exchanges[0]["first"]
        return position, row_id
    if made_by.cursor_before_position is not None:
        return made_by.cursor_before_position, made_by.cursor_before_id or 0
    return _behind_newest_row(made_by)


def _behind_newest_row(made_by: CompactionPass) -> Place:
    rows = MessageRow.objects.filter(
        session_id=made_by.session_id, born_seq__lt=made_by.seq, kind=RowKind.MESSAGE.value
    )
    newest = rows.order_by("-born_seq", "-position").values_list("position", "id").first()
    return (0, 0) if newest is None else (newest[0], newest[1] + 1)
