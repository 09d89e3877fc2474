"""The deletion of a project in the background: session by session, then what the project itself has.

May run again after a crash: what is gone is not sought again.
"""

from __future__ import annotations

import logging
from pathlib import Path

from django.db import InterfaceError, OperationalError

from compaction.wording import worded
from sessions_app.models import ProjectDeletion
from sessions_app.services.deleting_projects import (
    begin_project_deletion,
    delete_next_session,
    fail_project_deletion,
    finish_project_deletion,
)

logger = logging.getLogger(__name__)


def run_project_deletion(deletion_id: int) -> None:
    """Delete what a deletion names. One that is over needs nothing."""
    deletion = begin_project_deletion(deletion_id)
    if deletion is None:
        return
    try:
        _delete_all(deletion)
    except (OperationalError, InterfaceError):
        # It runs again when the database is back.
        raise
    except Exception as error:
        told = worded("The deletion ended with a fault of ours ({}).", type(error).__name__)
        fail_project_deletion(deletion_id, told)
        raise


def _remove(paths: tuple[str, ...]) -> None:
    """Remove uploads. One that can't be removed keeps no project from going, and is only logged."""
    for path in paths:
        try:
            Path(path).unlink(missing_ok=True)
        except OSError as error:
            logger.error("the upload %s of a deleted project could not be removed (%s)", path, type(error).__name__)


def _delete_all(deletion: ProjectDeletion) -> None:
    is_over = False
    while not is_over:
        while delete_next_session(deletion):
            pass
        # An import that was under way may have brought another one in.
        is_over = finish_project_deletion(deletion, _remove)
