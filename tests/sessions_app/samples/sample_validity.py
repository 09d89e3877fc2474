"""What makes a session valid: the law that every sample keeps, whatever the checkout."""

from compaction.messages import Role


def assert_valid(rows, may_ask_twice=False):
    """A request, then calls each followed by exactly its results, then an answer in words; times never go back."""
    waiting, seen = [], set()
    for before, row in zip(rows, rows[1:], strict=False):
        message = row.message
        assert row.at >= before.at
        if message.role is Role.TOOL:
            assert message.tool_call_id == waiting.pop(0)
            assert message.text.strip()
            continue
        assert not waiting, "a call was not answered"
        if message.role is Role.USER:
            assert may_ask_twice or before.message.role is not Role.USER
            assert before.message.role is not Role.TOOL and not before.message.tool_calls
            assert message.text.strip()
        else:
            assert before.message.role in (Role.USER, Role.TOOL)
            assert message.text.strip() or message.tool_calls
        ids = [call.id for call in message.tool_calls]
        assert seen.isdisjoint(ids) and len(set(ids)) == len(ids)
        seen.update(ids)
        waiting = ids
    assert rows[-1].message.role is Role.ASSISTANT and not rows[-1].message.tool_calls
