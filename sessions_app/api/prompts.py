"""Prompts: what clients of the gateway sent beside the conversation, each version there was."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ninja import Query, Router, Schema
from pydantic import Field

from sessions_app.api.answers import reads
from sessions_app.api.authentication import ApiRequest
from sessions_app.api.parameters import JsonObject, PageQuery, PublicId, Seq
from sessions_app.api.reach import get_session
from sessions_app.models import SessionPrompt
from sessions_app.queries.prompts import read_prompt_page

router = Router(tags=["prompts"])


class PromptShape(Schema):
    """System messages in front of the history and tools, as they were sent from an event on."""

    number: int
    seq: int = Field(description="The newest event when it was first sent.")
    at: datetime
    messages: list[JsonObject]
    tools: Any = Field(description="A list of tools as it was sent; null when none were.")
    tokens: int = Field(description="What it adds to each request.")


class PromptList(Schema):
    """Versions, oldest first. next: send it as `after`; null at the end."""

    prompts: list[PromptShape]
    next: int | None


class PromptQuery(PageQuery):
    """Which versions."""

    after: Seq = Field(0, description="`next` of the page before.")


def shape_prompt(stored: SessionPrompt) -> PromptShape:
    """A version as lists and exports tell it."""
    return PromptShape(
        number=stored.number,
        seq=stored.seq,
        at=stored.at,
        messages=stored.messages,
        tools=stored.tools,
        tokens=stored.tokens,
    )


@router.get("/sessions/{public_id}/prompts", response=reads(PromptList), operation_id="list_prompts")
def list_prompts(request: ApiRequest, public_id: PublicId, query: Query[PromptQuery]) -> PromptList:
    """Every version of the system messages and tools that were sent beside the session's rows, oldest first."""
    session = get_session(request.auth, public_id)
    page = read_prompt_page(session.pk, query.after, query.limit)
    return PromptList(prompts=[shape_prompt(one) for one in page.prompts], next=page.next_after)
