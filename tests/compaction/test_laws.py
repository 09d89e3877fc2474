"""The laws of micro passes, on generated transcripts and with every way a summarizer can fail (ENGINE 14)."""

from hypothesis import given
from hypothesis import strategies as st

from compaction.edits import apply_edit
from compaction.live_rows import LiveRows
from compaction.messages import Role, RowKind
from compaction.micro import plan_micro, settle_micro
from compaction.model_view import model_view
from compaction.pass_context import make_context
from compaction.passes import Nothing
from compaction.policy import CompactionPolicy
from compaction.provider_rules import violations
from compaction.state import CompactionState
from compaction.summarizer import Reply
from compaction.threshold import Window
from compaction.turns import is_finished, split_turns
from tests.compaction.transcripts import COUNTER, transcripts

GOOD = "## Key Decisions\n- keep sqlite, because the site runs on one machine\n\n## Files and Commands\n- src/app.py"
REPLIES = st.sampled_from(
    [
        Reply(text=GOOD, finish_reason="stop"),
        Reply(text=GOOD, finish_reason="stop"),
        Reply(text=GOOD, finish_reason="stop"),
        Reply(text="## Key Decisions\n" + "- grown again\n" * 600, finish_reason="stop"),
        Reply(text="word " * 6_000, finish_reason="stop"),
        Reply(text=GOOD[:30], finish_reason="length"),
        Reply(text="", finish_reason="stop"),
        Reply(text=None),
        Reply(text="<think>hm</think>", finish_reason="stop"),
        Reply(text="I'm sorry, I can't summarize this conversation.", finish_reason="stop"),
        Reply(text=None, refusal="no"),
        Reply(error="timeout"),
        Reply(error="http_500"),
        Reply(text='<tool_call>{"name": "x"}</tool_call>', has_tool_calls=True),
    ]
)
POLICIES = st.builds(
    CompactionPolicy,
    micro_compact=st.just(True),
    micro_compact_every_n_turns=st.sampled_from([1, 1, 1, 2]),
    micro_compact_max_exchanges=st.sampled_from([1, 1, 3]),
    micro_compact_defrag_threshold_tokens=st.sampled_from([40, 2_000]),
    protect_first_n=st.integers(0, 4),
    target_ratio=st.just(0.10),
)
WINDOWS = st.sampled_from([300, 1_000, 4_000])


class History:
    """A session that grows turn by turn, with everything the laws speak of written down."""

    def __init__(self, rows, policy, window_tokens):
        self.turns = list(split_turns(rows))
        self.context = make_context(policy, Window(window_tokens), COUNTER)
        self.live = LiveRows(1_000_000)
        self.state = CompactionState()
        self.appended = []
        self.archived = []

    def passes(self, replies):
        for turn in self.turns:
            for row in turn:
                self.live.insert(row)
                self.appended.append(row)
            before = tuple(self.live.forward())
            plan = plan_micro(self.live, self.state, self.context, turn_finished=is_finished(turn))
            if isinstance(plan, Nothing):
                self.state = plan.state
                continue
            cursor_before = plan.cursor
            settled = settle_micro(plan, None if plan.request is None else replies())
            applied = self.live.apply(settled.record.edit)
            self.archived += applied.archived
            self.state = settled.state
            yield before, plan, settled.record, cursor_before


@given(transcripts(min_turns=3), POLICIES, WINDOWS, st.data())
def test_micro_passes_keep_the_laws(rows, policy, window_tokens, data):
    history = History(rows, policy, window_tokens)
    for before, plan, record, cursor_before in history.passes(lambda: data.draw(REPLIES)):
        after = tuple(history.live.forward())
        gone = {row.id: row for row in before if row.id in record.edit.removed}

        # A pass that commits nothing leaves the transcript as it was.
        assert record.edit.is_empty == (before == after)
        # Applied in memory by the pure function and by the growing transcript, an edit does the same.
        assert [row.key[0] for row in apply_edit(before, record.edit, 5_000_000)] == [row.position for row in after]
        # No user, head or tail row is touched.
        for row in gone.values():
            assert row.role in (Role.ASSISTANT, Role.TOOL)
            assert plan.zones.holds_in_middle(row.key)
        # At most one live micro summary, and its text is what the state says.
        micro = [row for row in after if row.kind is RowKind.MICRO_SUMMARY]
        assert len(micro) <= 1
        if micro:
            assert history.state.rolling_summary in micro[0].message.text
        # The cursor never goes back.
        assert record.cursor_after >= cursor_before
        # Counters equal recounted sums, and the record's figures are theirs.
        assert history.live.live_tokens == sum(row.tokens for row in after)
        assert record.tokens_after == history.live.live_tokens
        assert (record.rows_before, record.rows_after) == (len(before), len(after))
        zones = record.zones
        assert zones.head_tokens + zones.middle_tokens + zones.tail_tokens == record.tokens_before
        assert min(zones.middle_rows, zones.head_rows, zones.tail_rows) >= 0

    # Rows live or archived are the rows ever appended, byte for byte; none was absorbed twice.
    archived_ids = [row.id for row in history.archived]
    assert len(archived_ids) == len(set(archived_ids))
    kept = [row for row in history.live.forward() if row.kind is RowKind.MESSAGE]
    assert sorted([*kept, *history.archived], key=lambda row: row.id) == history.appended


@given(transcripts(min_turns=3), POLICIES, WINDOWS)
def test_the_model_view_is_valid_after_every_pass(rows, policy, window_tokens):
    history = History(rows, policy, window_tokens)
    for _before, _plan, _record, _cursor in history.passes(lambda: Reply(text=GOOD, finish_reason="stop")):
        assert violations(model_view(tuple(history.live.forward())).messages) == ()


@given(transcripts(min_turns=3), POLICIES, WINDOWS)
def test_calls_and_results_leave_together(rows, policy, window_tokens):
    history = History(rows, policy, window_tokens)
    for before, _plan, record, _cursor in history.passes(lambda: Reply(text=GOOD, finish_reason="stop")):
        paired_before = _paired_ids(before)
        gone = set(record.edit.removed)
        for pair in paired_before:
            assert pair <= gone or not (pair & gone)


def _paired_ids(rows):
    from compaction.tool_pairs import pair_rounds

    rounds = pair_rounds([row.message for row in rows])
    return [{rows[found.index].id, rows[index].id} for found in rounds.values() for index in found.results]


@given(transcripts(min_turns=3), POLICIES, WINDOWS, st.data())
def test_a_restart_between_passes_changes_nothing(rows, policy, window_tokens, data):
    through, restarted = History(rows, policy, window_tokens), History(rows, policy, window_tokens)
    drawn = []

    def replies():
        drawn.append(data.draw(REPLIES))
        return drawn[-1]

    first = [record.edit for _b, _p, record, _c in through.passes(replies)]
    again = iter(drawn)
    second = []
    for _b, _p, record, _c in restarted.passes(lambda: next(again)):
        restarted.state = CompactionState.from_mapping(_through_json(restarted.state.to_mapping()))
        second.append(record.edit)
    assert first == second


def _through_json(mapping):
    import json

    return json.loads(json.dumps(mapping))
