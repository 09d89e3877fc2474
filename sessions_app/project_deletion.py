"""The deletion of a project in the background: session by session, then what the project itself has.

May run again after a crash: what is gone is not sought again.
"""

from __future__ import annotations

from pathlib import Path

from django.db import InterfaceError, OperationalError

from sessions_app.models import ProjectDeletion
from sessions_app.services.deleting_projects import (
    begin_project_deletion,
    delete_next_session,
    fail_project_deletion,
    finish_project_deletion,
)


def run_project_deletion(deletion_id: int) -> None:
    """Delete what a deletion names. One that is over needs nothing."""
    deletion = begin_project_deletion(deletion_id)
    if deletion is None:
        return
    try:
        for path in _delete_all(deletion):
            Path(path).unlink(missing_ok=True)
    except (OperationalError, InterfaceError):
        # It runs again when the database is back.
        raise
    except Exception as error:
        fail_project_deletion(deletion_id, f"The deletion ended with a fault of ours ({type(error).__name__}).")
        raise


def _delete_all(deletion: ProjectDeletion) -> tuple[str, ...]:
    while True:
        while delete_next_session(deletion):
            pass
        # An import that was under way may have brought another one in.
        if (paths := finish_project_deletion(deletion)) is not None:
            return paths
