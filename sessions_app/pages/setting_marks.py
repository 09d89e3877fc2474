"""Where in a session's events its settings were changed: marks for the occupancy chart.

Times are looked up among events spread evenly over the session, so a mark costs the same for any length and stands at
most one step of the chart beside its true place. Settings move nothing in a session that was imported.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection
from django.urls import reverse
from django.utils.translation import gettext as _

from sessions_app.models import PolicyRevision, Session, SessionPolicyRevision
from sessions_app.rendering.curve import Curve
from sessions_app.rendering.rail import Mark

MOST_CHANGES: Final = 30
_MOST_TIMES: Final = 600
_ICON: Final = "set"
_TIMES_QUERY: Final = """
SELECT DISTINCT event.seq, event.at FROM generate_series(0, %(most)s) AS n
CROSS JOIN LATERAL (
    SELECT seq, at FROM sessions_app_sessionevent
    WHERE session_id = %(session)s AND seq <= 1 + (%(last)s - 1) * n / %(most)s ORDER BY seq DESC LIMIT 1
) AS event WHERE event.at IS NOT NULL ORDER BY event.seq
"""


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """Settings that were saved while the session went on. seq: about the first event under them."""

    number: int
    seq: int
    words: str
    href: str


def read_settings_changes(session: Session) -> tuple[SettingsChange, ...]:
    """The newest changes of the project's settings and of the session's own, in order."""
    if session.source != Session.HOSTED or not session.last_seq:
        return ()
    began = session.started_at or session.created_at
    saved = [*_of_project(session, began), *_of_session(session, began)]
    if not saved:
        return ()
    places = _read_times(session)
    times = [at for _seq, at in places]
    found = []
    for at, number, words, href in saved:
        index = bisect_left(times, at)
        if index < len(places):
            found.append(SettingsChange(number, places[index][0], words, href))
    return tuple(sorted(found, key=lambda one: one.seq))


def _of_project(session: Session, began: datetime) -> Iterator[tuple[datetime, int, str, str]]:
    revisions = PolicyRevision.objects.filter(project_id=session.project_id, created_at__gt=began)
    for number, at in revisions.order_by("-number").values_list("number", "created_at")[:MOST_CHANGES]:
        href = reverse("setting_revision", args=[session.project.slug, number])
        yield at, number, _("Settings changed: revision {}").format(number), href


def _of_session(session: Session, began: datetime) -> Iterator[tuple[datetime, int, str, str]]:
    revisions = SessionPolicyRevision.objects.filter(session_id=session.pk, created_at__gt=began)
    for number, at in revisions.order_by("-number").values_list("number", "created_at")[:MOST_CHANGES]:
        href = f"{reverse('session_settings', args=[session.public_id])}#own-{number}"
        yield at, number, _("Own settings of this session changed: {}").format(number), href


def _read_times(session: Session) -> list[tuple[int, datetime]]:
    with connection.cursor() as cursor:
        cursor.execute(_TIMES_QUERY, {"session": session.pk, "last": session.last_seq, "most": _MOST_TIMES})
        found: list[tuple[int, datetime]] = cursor.fetchall()
    return found


def settings_mark(curve: Curve, change: SettingsChange) -> Mark:
    """A change as a mark that leads to what changed."""
    place = curve.left_pct(change.seq)
    return Mark(change.number, _ICON, change.words, change.href, place, place, has_label=False, has_narrow_label=False)
