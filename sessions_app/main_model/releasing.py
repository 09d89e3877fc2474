"""Database connections while somebody else is waited for: answers take minutes, and connections are few."""

from __future__ import annotations

from django.db import connection


def release_connection() -> None:
    """Give this thread's connection back to the pool; the next query takes one again."""
    if not connection.in_atomic_block:
        connection.close()
