"""Opening a session by its maker's own id: the first time it is made, every other time it is found."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import IntegrityError, transaction

from sessions_app.mapping import storable_id, storable_or_none
from sessions_app.models import Project, Session
from sessions_app.services.lifecycle import create_session


@dataclass(frozen=True, slots=True)
class Opening:
    """A session as its maker wants it. client_id: the maker's id, None for a session that nobody will ask for again.

    Figures in tokens, None where the project's hold.
    """

    title: str = ""
    client_id: str | None = None
    model: str | None = None
    window_tokens: int | None = None
    fixed_overhead_tokens: int | None = None


def open_session(project: Project, opening: Opening) -> tuple[Session, bool]:
    """The hosted session of that id, and whether it is new. Of two makers at once one makes it, both get it."""
    foreign_id = None if opening.client_id is None else storable_id(opening.client_id)
    if foreign_id is not None and (found := _find(project, foreign_id)):
        return found, False
    try:
        with transaction.atomic():
            return _create(project, opening, foreign_id), True
    except IntegrityError:
        if foreign_id is None or (found := _find(project, foreign_id)) is None:
            raise
        return found, False


def _create(project: Project, opening: Opening, foreign_id: str | None) -> Session:
    return create_session(
        project,
        opening.title,
        model=storable_or_none(opening.model),
        window_tokens=opening.window_tokens,
        fixed_overhead_tokens=opening.fixed_overhead_tokens,
        foreign_id=foreign_id,
    )


def _find(project: Project, foreign_id: str) -> Session | None:
    hosted = Session.objects.select_related("project").filter(project=project, source=Session.HOSTED)
    return hosted.filter(foreign_id=foreign_id).first()
