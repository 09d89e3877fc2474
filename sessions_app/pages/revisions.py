"""Revisions of settings as people look at them: what each changed, who saved it when and why, and what is in force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compaction.settings import shown
from sessions_app.models import PolicyRevision, Project, Session, SessionPolicyRevision
from sessions_app.pages.setting_options import setting_label
from sessions_app.policy_changes import ABSENT, Change, changes

PAGE_SIZE: Final = 20
NEWEST: Final = 3


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One key that changed, its values as a settings file spells them; None where it is not written."""

    path: str
    key: str
    label: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class RevisionLine:
    """A revision with what it changed against the one before."""

    revision: PolicyRevision | SessionPolicyRevision
    changes: tuple[ChangeLine, ...]
    is_newest: bool


@dataclass(frozen=True, slots=True)
class RevisionPage:
    """Revisions, newest first. older: the number to go on before, None at the end."""

    lines: tuple[RevisionLine, ...]
    older: int | None


@dataclass(frozen=True, slots=True)
class RevisionView:
    """One revision: its change against the one before and what has changed since, and everything it writes."""

    line: RevisionLine
    since: tuple[ChangeLine, ...]
    written: tuple[ChangeLine, ...]
    newest: int
    newer: int | None
    older: int | None


def read_revisions(project: Project, before: int | None = None, limit: int = PAGE_SIZE) -> RevisionPage:
    """A page of a project's revisions, in two queries."""
    revisions = project.policy_revisions.select_related("author").defer("source_text").order_by("-number")
    newest = revisions.values_list("number", flat=True).first()
    found = list((revisions if before is None else revisions.filter(number__lt=before))[: limit + 1])
    return page_of(found, newest, limit)


def page_of(found: Sequence[PolicyRevision | SessionPolicyRevision], newest: int | None, limit: int) -> RevisionPage:
    """So many of the revisions that were found, newest first, each against the one before it."""
    previous = [*found[1:], None][: len(found)]
    lines = tuple(line_of(one, before, newest) for one, before in zip(found, previous, strict=True))
    return RevisionPage(lines[:limit], found[limit - 1].number if len(found) > limit else None)


def line_of(
    revision: PolicyRevision | SessionPolicyRevision,
    previous: PolicyRevision | SessionPolicyRevision | None,
    newest: int | None,
) -> RevisionLine:
    before: Mapping[str, Any] = {} if previous is None else previous.settings
    lines = change_lines(changes(before, revision.settings))
    return RevisionLine(revision, lines, revision.number == newest)


def read_revision(project: Project, revision: PolicyRevision) -> RevisionView:
    """One revision of a project."""
    others = project.policy_revisions.select_related("author").order_by("-number")
    newest, previous = others.first() or revision, others.filter(number__lt=revision.number).first()
    return RevisionView(
        line=line_of(revision, previous, newest.number),
        since=change_lines(changes(revision.settings, newest.settings)),
        written=change_lines(changes({}, revision.settings)),
        newest=newest.number,
        newer=others.filter(number__gt=revision.number).order_by("number").values_list("number", flat=True).first(),
        older=None if previous is None else previous.number,
    )


def read_own_revisions(session: Session, before: int | None = None) -> RevisionPage:
    """The newest of a session's own settings, or those before a number."""
    revisions = session.policy_revisions.select_related("author").order_by("-number")
    newest = revisions.values_list("number", flat=True).first()
    found = list((revisions if before is None else revisions.filter(number__lt=before))[: PAGE_SIZE + 1])
    return page_of(found, newest, PAGE_SIZE)


def change_lines(found: Sequence[Change]) -> tuple[ChangeLine, ...]:
    """Changes in the words of a settings file."""
    return tuple(
        ChangeLine(
            one.path,
            key_of(one.path),
            setting_label(one.path),
            value_text(one.before),
            value_text(one.after),
        )
        for one in found
    )


def key_of(path: str) -> str:
    """A path without the block that most settings stand in."""
    return path.removeprefix("compression.")


def value_text(value: Any) -> str | None:
    """A value as a settings file spells it; None for one that is not written."""
    return None if value is ABSENT else shown(value)
