"""What goes out: the live rows of a session as messages that a provider accepts, and how much that is."""

from __future__ import annotations

from dataclasses import dataclass

from compaction.messages import Row
from compaction.model_view import ModelView, model_view, with_resent_reasoning
from sessions_app.models import Session
from sessions_app.queries.contexts import context_now
from sessions_app.services import ContextSent
from sessions_app.session_policy import overhead_of, policy_of


@dataclass(frozen=True, slots=True)
class Sending:
    """The context of a session right after event `seq`. tokens: stored costs of what is sent, with the overhead."""

    seq: int
    rows: tuple[Row, ...]
    view: ModelView
    tokens: int

    def told(self, waited_ms: int = 0, went_ahead: bool = False) -> ContextSent:
        """The same for the ledger."""
        repairs = tuple(repair.kind.value for repair in self.view.repairs)
        return ContextSent(self.seq, len(self.rows), self.tokens, repairs, waited_ms, went_ahead)


def sending_of(session: Session) -> Sending:
    """What would be sent of `session` now, under its policy."""
    resend = policy_of(session).resend_reasoning
    found = context_now(session)
    sent = with_resent_reasoning(found.rows, resend)
    reasoning = sum(row.reasoning_tokens or 0 for row in sent)
    tokens = (overhead_of(session) or 0) + sum(row.tokens for row in sent) + reasoning
    return Sending(found.seq, found.rows, model_view(found.rows, resend=resend), tokens)
