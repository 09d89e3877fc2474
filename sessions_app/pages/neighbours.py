"""The sessions before and behind one in the list, for the keys [ and ]."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, QuerySet, Value

from sessions_app.models import Session


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Public ids; None at the ends of the list."""

    newer: str | None
    older: str | None


def read_neighbours(visible: QuerySet[Session], session: Session) -> Neighbours:
    """By last activity, as the list is ordered when nothing else is chosen."""
    at, key = session.listed_at, session.pk
    newer = visible.filter(Q(listed_at__gt=at) | Q(listed_at=at, id__gt=key)).order_by("listed_at", "id")
    older = visible.filter(Q(listed_at__lt=at) | Q(listed_at=at, id__lt=key)).order_by("-listed_at", "-id")
    found = dict(_first(newer, "newer").union(_first(older, "older"), all=True))
    return Neighbours(found.get("newer"), found.get("older"))


def _first(sessions: QuerySet[Session], end: str) -> QuerySet[Session, tuple[str, str]]:
    """The id of the first one, if there is one, with the end of the list it lies at."""
    return sessions.annotate(end=Value(end)).values_list("end", "public_id")[:1]
