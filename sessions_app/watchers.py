"""Who watches what: the identity of a live connection, as far as access to it is concerned."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Watcher:
    """One person, in one login, watching one session; several pages of theirs are the same watcher."""

    session_id: int
    user_id: int
    login_key: str
