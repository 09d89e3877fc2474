"""Runner for what lets an automatic batch run: strikes, pauses, cool-downs.

Each recorded step is put to our guard. A batch that was completed is judged by the tokens it left, so it waits for the
next usage that is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from compaction.batch_guard import BlockedBy, after_commit, after_no_gain, after_nothing_to_cut, blocked_by
from compaction.state import CompactionState
from compaction.threshold import Window, effective_threshold
from tests.compaction.reference_vectors.cases import Case
from tests.compaction.reference_vectors.settings_runners import MODEL, PROVIDER, read

# So large that a batch which ends below the threshold has always freed a tenth.
_BEFORE = 10**9


def run_firing(case: Case) -> dict[str, Any]:
    """What each step of the case answers."""
    guard = _Guard(case.config["threshold_tokens"])
    answers = [guard.step(list(given)) for given in case.input["steps"]]
    # A step about something that we don't have answers nothing; what was recorded of it is told apart key by key.
    recorded = case.expected["outputs"]
    return {
        "outputs": [
            {} if answer is None and isinstance(theirs, dict) else answer
            for answer, theirs in zip(answers, recorded, strict=True)
        ]
    }


def states_of(case: Case) -> list[CompactionState]:
    """Our state after each step of the case."""
    guard = _Guard(case.config["threshold_tokens"])
    states = []
    for given in case.input["steps"]:
        guard.step(list(given))
        states.append(guard.state)
    return states


class _Guard:
    """The state between steps, with a clock that only the steps move."""

    def __init__(self, threshold_tokens: int) -> None:
        self.state = CompactionState()
        self._threshold = threshold_tokens
        self._now = 1_000.0
        self._is_committed = False

    def step(self, given: Sequence[Any]) -> Any:
        """Take one step and answer it; None where there is nothing to say."""
        kind, values = given[0], given[1:]
        match kind:
            case "wait":
                self._now += values[0]
            case "cooldown":
                until = max(self.state.cooldown_until or 0.0, self._now + values[0])
                self.state = replace(self.state, cooldown_until=until)
            case "noop":
                self.state = after_nothing_to_cut(self.state, self._threshold, self._now)
            case "end":
                self.state = self.state.at_session_end()
            case "completed":
                self._is_committed = True
                self.state = replace(
                    self.state, paused_until=None, paused_at_tokens=None, cooldown_until=None, batch_failures=0
                )
                return {}
            case "usage":
                return self._usage(values[0])
            case "rejected":
                self.state = after_no_gain(self.state, self._threshold, self._now)
                return {"ineffective": self.state.batch_strikes}
            case "model":
                return self._switch(values[0])
            case "ask":
                return self._ask(values[0])
            case "reset":
                self.state = CompactionState()
        return None

    def _usage(self, tokens: int) -> dict[str, Any]:
        if self._is_committed:
            self._is_committed = False
            self.state = after_commit(self.state, _BEFORE, tokens, self._threshold, self._now)
        return {"ineffective": self.state.batch_strikes}

    def _switch(self, window_tokens: int) -> dict[str, Any]:
        window = Window(window_tokens)
        self._threshold = effective_threshold(read({}).policy, window, model=MODEL, provider=PROVIDER).tokens or 0
        return {"threshold": self._threshold, "ineffective": self.state.batch_strikes}

    def _ask(self, tokens: int) -> list[Any]:
        if tokens < self._threshold:
            return [False, None]
        blocked = blocked_by(self.state, tokens, self._now)
        return [blocked is None, None if blocked is None else self._words(blocked)]

    def _words(self, blocked: BlockedBy) -> str:
        state = self.state
        until = {BlockedBy.COOLDOWN: state.cooldown_until, BlockedBy.STRUCTURAL: state.paused_until}.get(blocked)
        return blocked.value if until is None else f"{blocked}:{round(until - self._now)}"
