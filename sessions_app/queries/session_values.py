"""Which values a column of sessions has, found by stepping over an index from one value to the next.

The cost is that of the values, not of the sessions that have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from django.db import connection

_STEPS = """
WITH RECURSIVE step AS (
    SELECT p.id, (SELECT min({column}) FROM sessions_app_session WHERE project_id = p.id) AS value
    FROM unnest(%(projects)s::bigint[]) AS p(id)
    UNION ALL
    SELECT step.id, (
        SELECT min({column}) FROM sessions_app_session WHERE project_id = step.id AND {column} > step.value
    ) FROM step WHERE step.value IS NOT NULL
)
SELECT DISTINCT value FROM step WHERE value IS NOT NULL ORDER BY value LIMIT %(most)s
"""


def values_in_projects(column: Literal["source", "model"], project_ids: Sequence[int], most: int) -> tuple[str, ...]:
    """The first `most` values of a column among the sessions of these projects, in order. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_STEPS.format(column=column), {"projects": list(project_ids), "most": most})
        return tuple(value for (value,) in cursor.fetchall())
