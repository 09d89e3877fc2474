"""Source sessions as a format would tell them."""

from compaction.formats.events import PassRecorded, RowAppended, RowsRewound, SourceRow, SourceSession, TurnEnded
from compaction.messages import Message, Role, RowKind, ToolCall


def row(foreign_id, role="user", text=None, **more):
    return RowAppended(SourceRow(foreign_id, Message(Role(role), foreign_id if text is None else text), **more))


def tool_call(foreign_id, call_id):
    return RowAppended(SourceRow(foreign_id, Message(Role.ASSISTANT, None, (ToolCall(call_id, "bash", "{}"),))))


def summary(foreign_id, kind=RowKind.BATCH_SUMMARY):
    return SourceRow(foreign_id, Message(Role.ASSISTANT, f"summary {foreign_id}"), kind=kind, by_person=False)


def recorded(archived, foreign_id, kind=RowKind.BATCH_SUMMARY, **more):
    return PassRecorded(kind, tuple(archived), (summary(foreign_id, kind),), **more)


def rewound(*foreign_ids):
    return RowsRewound(foreign_ids)


def source(*events, foreign_id="s1", **more):
    return SourceSession(foreign_id, more.pop("source", "test-format"), lambda: iter(events), **more)


__all__ = ["TurnEnded", "recorded", "rewound", "row", "source", "summary", "tool_call"]
