"""What was sent beside the conversation: system messages and tools that are no rows, in the version of a moment."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from sessions_app.models import SessionPrompt


@dataclass(frozen=True, slots=True)
class PromptPage:
    """Some versions, oldest first. next_after: the number to go on behind, None at the end."""

    prompts: tuple[SessionPrompt, ...]
    next_after: int | None


def prompts_of(session_id: int) -> QuerySet[SessionPrompt]:
    """Every version of a session, oldest first."""
    return SessionPrompt.objects.filter(session_id=session_id).order_by("number")


def prompt_at(session_id: int, seq: int | None) -> SessionPrompt | None:
    """The version in force right after event `seq`, or now; None when nothing is known to have been sent.

    The first one holds from the beginning: it came with the rows of the first request.
    """
    versions = prompts_of(session_id)
    if seq is not None:
        versions = versions.filter(Q(seq__lte=seq) | Q(number=1))
    return versions.last()


def read_prompt_page(session_id: int, after: int, limit: int) -> PromptPage:
    """Up to `limit` versions behind number `after`."""
    found = list(prompts_of(session_id).filter(number__gt=after)[: limit + 1])
    shown = tuple(found[:limit])
    return PromptPage(shown, shown[-1].number if len(found) > limit else None)
