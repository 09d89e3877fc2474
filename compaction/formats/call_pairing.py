"""Calls and results without ids, paired by their order.

Some old transcripts keep no call ids. A result without an id answers the oldest open call without an id of the message
before it, the one of the same name first. The invented ids are numbered through the session, so they stay the same when
the file grows. Nothing is paired across a message of a person or another call message.
"""

from __future__ import annotations

from dataclasses import replace

from compaction.messages import Message, Role, ToolCall


class CallPairing:
    """Gives ids to calls that have none and to the results that answer them. Messages must come in order."""

    def __init__(self) -> None:
        self._invented = 0
        self._open: list[ToolCall] = []

    def paired(self, message: Message) -> Message:
        """The message with ids filled in; the same message when nothing was missing."""
        if message.role is Role.TOOL:
            return self._result(message)
        if message.role is Role.USER or message.tool_calls:
            self._open = []
        if all(call.id is not None for call in message.tool_calls):
            return message
        calls = tuple(self._call(call) for call in message.tool_calls)
        return replace(message, tool_calls=calls)

    def _call(self, call: ToolCall) -> ToolCall:
        if call.id is not None:
            return call
        self._invented += 1
        named = replace(call, id=f"unnamed-call-{self._invented}")
        self._open.append(named)
        return named

    def _result(self, message: Message) -> Message:
        if message.tool_call_id is not None or not self._open:
            return message
        same_name = (call for call in self._open if message.name is not None and call.name == message.name)
        call = next(same_name, self._open[0])
        self._open.remove(call)
        return replace(message, tool_call_id=call.id)
