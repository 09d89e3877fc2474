"""Writes, one noun per file. Each service is one short transaction and locks the session it writes, nothing else.

Must not render, wait for a network or ask a summarizer inside a transaction. The lock on the session's row is what
orders events: whoever holds it gives out the next sequence numbers and positions, keeps the counters, and tells the
listeners, all or nothing.
"""

from sessions_app.services.appending import Appended, NewMessage, append_rows
from sessions_app.services.audit import AuditOrigin, record_audit
from sessions_app.services.branching import branch_session
from sessions_app.services.calls import CallMade, ContextSent, record_calls
from sessions_app.services.compacting import Circumstances, Committed, Stale, archive_and_compact, store_state
from sessions_app.services.deleting import Deletion, chain_of, delete_session
from sessions_app.services.lifecycle import create_session, end_session, hold_passes, note_failure, resume_passes
from sessions_app.services.main_models import save_main_model
from sessions_app.services.pass_requests import request_pass
from sessions_app.services.policies import PolicyConflict, save_policy, save_session_policy
from sessions_app.services.projects import (
    ProjectShut,
    add_member,
    create_project,
    default_project,
    find_open_project,
)
from sessions_app.services.resetting import ResetDone, reset_session
from sessions_app.services.turns import end_turn, finish_turn, mark_finalizing
from sessions_app.services.undoing import NothingToUndo, undo_last_pass

__all__ = [
    "Appended",
    "AuditOrigin",
    "CallMade",
    "Circumstances",
    "Committed",
    "ContextSent",
    "Deletion",
    "NewMessage",
    "NothingToUndo",
    "PolicyConflict",
    "ProjectShut",
    "ResetDone",
    "Stale",
    "add_member",
    "append_rows",
    "archive_and_compact",
    "branch_session",
    "create_project",
    "create_session",
    "default_project",
    "chain_of",
    "delete_session",
    "end_session",
    "end_turn",
    "find_open_project",
    "finish_turn",
    "hold_passes",
    "mark_finalizing",
    "note_failure",
    "record_audit",
    "record_calls",
    "request_pass",
    "reset_session",
    "resume_passes",
    "save_main_model",
    "save_policy",
    "save_session_policy",
    "store_state",
    "undo_last_pass",
]
