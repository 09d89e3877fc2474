"""Parents and children among imported sessions, resolved when all of a source is in.

A child may be imported before its parent, in another file or on another day: whatever links are still open in the
project are tried each time.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import OuterRef, Subquery

from sessions_app.models import MessageRow, Project, Session
from sessions_app.queries.found_rows import rows_with
from sessions_app.search.query import read_query


def link_parents(project: Project) -> int:
    """Resolve every open parent of the project that is stored by now; returns how many were."""
    parent = Session.objects.filter(
        project_id=OuterRef("project_id"), source=OuterRef("source"), foreign_id=OuterRef("parent_foreign_id")
    ).exclude(pk=OuterRef("pk"))
    with transaction.atomic():
        found = list(
            Session.objects.filter(project=project, parent__isnull=True, parent_foreign_id__isnull=False)
            .annotate(found_parent=Subquery(parent.values("pk")[:1]))
            .filter(found_parent__isnull=False)
            .order_by("pk")
        )
        for child in found:
            parent_id = child.found_parent
            child.parent_id = parent_id
            child.parent_row_id = find_call(parent_id, child.parent_call_id)
            child.save(update_fields=["parent", "parent_row"])
    return len(found)


def find_call(session_id: int, call_id: str | None) -> int | None:
    """The first row of a session that holds the tool call `call_id`.

    Rows are found by the words of the id first, which an index knows; an id without any is looked for in every row.
    """
    if call_id is None:
        return None
    rows = MessageRow.objects.filter(session_id=session_id, tool_calls__contains=[{"id": call_id}])
    query = read_query(f'"{call_id.replace(chr(34), " ")}"')
    if not query.problem:
        rows = rows.filter(rows_with(query, session_id))
    return rows.order_by("position", "id").values_list("id", flat=True).first()
