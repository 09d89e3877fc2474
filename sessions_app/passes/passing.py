"""With what a pass is made: who summarises, how tokens are counted, and why it runs."""

from __future__ import annotations

from dataclasses import dataclass

from compaction.summarizer import Summarizer
from compaction.tokens import TokenCounter
from sessions_app.models import Turn, TurnStep


@dataclass(frozen=True, slots=True)
class Passing:
    """turn: after which turn it runs. is_before_request: it runs before a request to the main model. Neither: by hand,
    whatever cadence, threshold and pauses say.

    focus: what a person wants a batch to keep. request_id: names a request by hand, so that asking for it twice makes
    one pass.
    """

    summarizer: Summarizer
    counter: TokenCounter
    turn: Turn | None = None
    focus: str = ""
    request_id: str | None = None
    is_before_request: bool = False

    @property
    def is_manual(self) -> bool:
        """Whether a person asked for it."""
        return self.turn is None and not self.is_before_request

    def trigger(self, step: TurnStep) -> str:
        """Why the pass runs, in the words that are stored."""
        if self.is_manual:
            return "manual"
        if self.is_before_request:
            return "request"
        return "turn" if step == TurnStep.MICRO else "threshold"
