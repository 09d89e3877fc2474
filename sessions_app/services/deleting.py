"""Deleting a session: everything the list shows as one conversation, and nothing else.

A conversation that was continued by compaction is a chain of sessions; all of the chain goes, with its archive.
Branches and sub-agents are sessions of their own: they stay, lose their link, and are named in the result.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection, transaction

from sessions_app.models import AuditAction, Session
from sessions_app.notifications import DELETED_KIND, Notice, notify
from sessions_app.services.audit import THE_SITE, AuditOrigin, record_audit
from sessions_app.services.locking import lock_sessions

# In the order in which nothing points to what is deleted; each is found by an index that the session leads.
_TABLES = (
    "sessions_app_modelcall",
    "sessions_app_toldmessage",
    "sessions_app_sessionprompt",
    "sessions_app_summaryrevision",
    "sessions_app_sessionevent",
    "sessions_app_rowlifetime",
    "sessions_app_rowwords",
    "sessions_app_messagerow",
    "sessions_app_compactionpass",
    "sessions_app_turn",
    "sessions_app_sessionpolicyrevision",
)
CONTINUATION = "compression"


@dataclass(frozen=True, slots=True)
class Deletion:
    """Public ids of the sessions that are gone, and of those that came from them and stay."""

    deleted: tuple[str, ...]
    kept: tuple[str, ...]


def chain_of(session: Session) -> tuple[Session, ...]:
    """The sessions that go together with `session`: its continuations in both directions and itself, root first."""
    return tuple(_chain(session))


def delete_session(session_id: int, *, origin: AuditOrigin = THE_SITE) -> Deletion:
    """Delete the whole chain of continuations that `session_id` is part of. Raises Session.DoesNotExist."""
    with transaction.atomic():
        session, chain = _locked_chain(session_id)
        ids = [one.pk for one in chain]
        kept = tuple(
            Session.objects.filter(parent_id__in=ids)
            .exclude(pk__in=ids)
            .order_by("id")
            .values_list("public_id", flat=True)
        )
        remove_sessions(ids)
        _tell(session, chain, origin)
    return Deletion(tuple(session.public_id for session in chain), kept)


def _locked_chain(session_id: int) -> tuple[Session, list[Session]]:
    """The session and its chain, locked with everything that comes from it and loses its link.

    Read again once it is locked: who waited for another deletion finds the session gone, as do those who are about to
    append and wait here; who waited for a branch or continuation finds that, too. Raises Session.DoesNotExist.
    """
    locked: set[int] = set()
    while True:
        session = Session.objects.select_related("project").get(pk=session_id)
        chain = _chain(session)
        ids = {one.pk for one in chain}
        wanted = ids | set(Session.objects.filter(parent_id__in=ids).values_list("pk", flat=True))
        if wanted <= locked:
            return session, chain
        locked |= lock_sessions(wanted).keys()


def _tell(chosen: Session, chain: list[Session], origin: AuditOrigin) -> None:
    """Enter each session that is gone in the audit log, by which its readers are told, and tell open pages at once."""
    for one in chain:
        how_many = ("sessions", str(len(chain)))
        details = (how_many,) if one.pk == chosen.pk else (how_many, ("with", chosen.public_id))
        record_audit(
            origin, AuditAction.SESSION_DELETED, project=chosen.project, subject=one.public_id, details=details
        )
        notify(Notice(one.pk, one.last_seq, DELETED_KIND))


def _chain(session: Session) -> list[Session]:
    """The session's continuations in both directions, root first. A loop in the links ends the walk."""
    seen = {session.pk}
    root = session
    while root.parent_link == CONTINUATION and root.parent is not None and root.parent_id not in seen:
        root = root.parent
        seen.add(root.pk)
    chain, found = [root], {root.pk}
    frontier = [root.pk]
    while frontier:
        children = Session.objects.filter(parent_id__in=frontier, parent_link=CONTINUATION).exclude(pk__in=found)
        fresh = list(children.order_by("id"))
        chain += fresh
        frontier = [child.pk for child in fresh]
        found |= set(frontier)
    return chain


def remove_sessions(ids: list[int]) -> None:
    """Delete sessions that are locked, with everything that belongs to them. Whoever calls notes who did it."""
    Session.objects.filter(pk__in=ids).update(parent=None, parent_row=None)
    Session.objects.filter(parent_id__in=ids).update(parent=None, parent_row=None)
    with connection.cursor() as cursor:
        for table in _TABLES:
            cursor.execute(f"DELETE FROM {table} WHERE session_id = ANY(%s)", [ids])
    Session.objects.filter(pk__in=ids).delete()
