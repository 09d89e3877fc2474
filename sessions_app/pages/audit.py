"""What the audit pages show: entries of a project, or of the site, newest first, narrowed by kind and by who."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from compaction.wording import wording_from_json
from sessions_app.models import AuditAction, AuditEntry, AuditSource, MemberRole, Project, TokenScope
from sessions_app.punctuation import colon, listed
from sessions_app.queries.key_pages import read_key_page
from sessions_app.templatetags.people import role_name, scope_name
from sessions_app.translated import translated

PAGE_SIZE = 100
_ACTIONS = {action.value: action for action in AuditAction}
_SOURCES = {source.value: source for source in AuditSource}


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One entry in words. who: the person, else the token or command. source: where it came from."""

    entry: AuditEntry
    who: str
    source: str
    action: str
    details: str
    is_session: bool


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Some entries. older: send it as `before`; None at the end. kinds: what one can filter by."""

    lines: tuple[AuditLine, ...]
    older: int | None
    is_first: bool
    kinds: tuple[tuple[str, str], ...]


def entries_of_project(project: Project) -> QuerySet[AuditEntry]:
    """What was done in a project."""
    return AuditEntry.objects.filter(project=project)


def entries_of_site() -> QuerySet[AuditEntry]:
    """What belongs to no project: logins, accounts, and deletions of projects, from when somebody asks for one on."""
    of_site = Q(action__startswith="login.") | Q(action__startswith="account.")
    return AuditEntry.objects.filter(Q(of_site, project__isnull=True) | Q(action=AuditAction.PROJECT_DELETED))


def entries_about(user: User) -> QuerySet[AuditEntry]:
    """A person's own logins and what became of their account, also what others tried in their name."""
    own = AuditEntry.objects.filter(project__isnull=True)
    return own.filter(Q(actor_id=user.pk) | Q(subject=user.username, action__startswith="login."))


def read_audit(found: QuerySet[AuditEntry], kind: str, who: str, before: int | None) -> AuditPage:
    """A page of entries."""
    if kind:
        found = found.filter(action__startswith=f"{kind}.")
    if who:
        found = found.filter(Q(actor_name__iexact=who) | Q(source_name__iexact=who))
    page = read_key_page(found, before, PAGE_SIZE)
    return AuditPage(tuple(line_of(entry) for entry in page.items), page.older, page.is_first, kinds_of(AuditAction))


def line_of(entry: AuditEntry) -> AuditLine:
    """An entry in words; an action of a newer version is shown by its own word."""
    source = _SOURCES.get(entry.source)
    action = _ACTIONS.get(entry.action)
    return AuditLine(
        entry=entry,
        who=entry.actor_name or entry.source_name or _nobody(entry),
        source=str(source.label) if source else entry.source,
        action=str(action.label) if action else entry.action,
        details=listed(
            detail_name(name) + colon() + detail_value(name, value) for name, value in entry.details if value
        ),
        is_session=entry.action.startswith("session.") and entry.action != AuditAction.SESSION_DELETED,
    )


def _nobody(entry: AuditEntry) -> str:
    return _("the site") if entry.source == AuditSource.SITE else _("somebody not logged in")


def detail_name(name: str) -> str:
    """The first word of a detail in the reader's language; one of a newer version stays as it is."""
    names = {
        "administrator": pgettext("detail of an entry", "administrator"),
        "after": pgettext("detail of an entry", "after"),
        "before": pgettext("detail of an entry", "before"),
        "by": pgettext("detail of an entry", "by"),
        "bytes": pgettext("detail of an entry", "bytes"),
        "branch": pgettext("detail of an entry", "branch"),
        "expires": pgettext("detail of an entry", "expires"),
        "files": pgettext("detail of an entry", "files"),
        "format": pgettext("detail of an entry", "format"),
        "for": pgettext("detail of an entry", "for"),
        "invitation": pgettext("detail of an entry", "invitation"),
        "logins": pgettext("detail of an entry", "logins"),
        "note": pgettext("detail of an entry", "note"),
        "owner": pgettext("detail of an entry", "owner"),
        "role": pgettext("detail of an entry", "role"),
        "rows": pgettext("detail of an entry", "rows"),
        "scope": pgettext("detail of an entry", "scope"),
        "secrets": pgettext("detail of an entry", "secrets"),
        "sessions": pgettext("detail of an entry", "sessions"),
        "uses": pgettext("detail of an entry", "uses"),
        "with": pgettext("detail of an entry", "with"),
    }
    return names.get(name, name)


def detail_value(name: str, value: object) -> str:
    """What stands in a detail in the reader's language: a known word, or a wording; anything else as it is."""
    if name in ("role", "before", "after") and value in MemberRole.values:
        return role_name(str(value))
    if name == "scope" and value in TokenScope.values:
        return scope_name(str(value))
    words = {
        ("administrator", "yes"): pgettext("detail of an entry", "yes"),
        ("by", "invitation"): pgettext("detail of an entry", "invitation"),
        ("by", "one-time link"): pgettext("detail of an entry", "one-time link"),
        ("by", "password"): pgettext("detail of an entry", "password"),
        ("secrets", "masked"): pgettext("detail of an entry", "masked"),
        ("secrets", "not masked"): pgettext("detail of an entry", "not masked"),
    }
    return words.get((name, str(value))) or translated(wording_from_json(value))


def kinds_of(actions: Iterable[AuditAction]) -> tuple[tuple[str, str], ...]:
    """The kinds of actions with their words, each once."""
    words = {
        "login": _("logins"),
        "account": _("accounts"),
        "project": _("project"),
        "access": _("access"),
        "settings": _("settings"),
        "session": _("sessions"),
        "import": _("imports"),
    }
    kinds = dict.fromkeys(action.value.partition(".")[0] for action in actions)
    return tuple((kind, words.get(kind, kind)) for kind in kinds)
