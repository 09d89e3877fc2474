"""Who may see and change what: the one place that knows the rules.

A person sees the projects they are a member of and nothing else; a superuser is a person like any other here. Getters
answer 404 to strangers, so that nobody learns what exists. Somebody who may read but not write is told so (403).
"""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from sessions_app.models import (
    ApiToken,
    AuditAction,
    AuditEntry,
    CompactionPass,
    EndpointTest,
    ImportJob,
    Invitation,
    MemberRole,
    Play,
    Project,
    ProjectDeletion,
    ProjectMember,
    ProjectSecret,
    ReplayRun,
    Session,
)
from sessions_app.queries.logins import logins_in_force
from sessions_app.watchers import Watcher

User = AbstractBaseUser | AnonymousUser
WRITING_ROLES = (MemberRole.OWNER, MemberRole.EDITOR)


def memberships_of(user: User) -> QuerySet[ProjectMember]:
    """The user's roles; none for somebody who has not logged in."""
    # Asked apart from the other tables: over a join, "user is null" would match projects that have no member.
    return ProjectMember.objects.none() if user.pk is None else ProjectMember.objects.filter(user_id=user.pk)


def visible_projects(user: User) -> QuerySet[Project]:
    """The projects the user may read."""
    return Project.objects.filter(pk__in=memberships_of(user).values("project_id"))


def writable_projects(user: User) -> QuerySet[Project]:
    """The projects the user may import into."""
    return Project.objects.filter(pk__in=memberships_of(user).filter(role__in=WRITING_ROLES).values("project_id"))


def visible_sessions(user: User) -> QuerySet[Session]:
    """The sessions the user may read."""
    return Session.objects.filter(project_id__in=memberships_of(user).values("project_id"))


def searchable_projects(user: User, slug: str = "") -> list[int]:
    """Ids of the projects whose rows the user may search, or of that one of them which has this slug."""
    projects = visible_projects(user).filter(slug=slug) if slug else visible_projects(user)
    return list(projects.order_by("id").values_list("id", flat=True))


def storable_id(public_id: str) -> str:
    """The id from an address, or 404: no stored id holds a NUL, and PostgreSQL refuses to be asked for one."""
    if "\0" in public_id:
        raise Http404("no such session")
    return public_id


def get_project(user: User, slug: str) -> Project:
    """The project, or 404."""
    return get_object_or_404(visible_projects(user), slug=slug)


class SessionDeleted(Http404):
    """The session was deleted, and who asks belongs to its project. Strangers are never told."""


def get_session(user: User, public_id: str) -> Session:
    """The session with its project, or 404; SessionDeleted for those who could have read it."""
    found = visible_sessions(user).select_related("project").filter(public_id=storable_id(public_id)).first()
    if found is not None:
        return found
    raise SessionDeleted(public_id) if was_deleted(user, public_id) else Http404("no such session")


def was_deleted(user: User, public_id: str) -> bool:
    """Whether a session of that id was deleted from a project of the user's."""
    entries = AuditEntry.objects.filter(project__in=visible_projects(user), action=AuditAction.SESSION_DELETED)
    return entries.filter(subject=public_id).exists()


def get_pass(user: User, public_id: str, number: int) -> CompactionPass:
    """A pass of a session, by its number in it, with the session and its project, or 404."""
    passes = CompactionPass.objects.filter(session__in=visible_sessions(user))
    passes = passes.select_related("session__project").filter(session__public_id=storable_id(public_id))
    return get_object_or_404(passes, number=number)


def get_run(user: User, public_id: str, run_id: int) -> ReplayRun:
    """A replay of a session, with the session and its project, or 404."""
    runs = ReplayRun.objects.filter(session__in=visible_sessions(user))
    runs = runs.select_related("session__project").filter(session__public_id=storable_id(public_id))
    return get_object_or_404(runs, pk=run_id)


def get_import_job(user: User, job_id: int) -> ImportJob:
    """An import into a project of the user, or 404."""
    jobs = ImportJob.objects.filter(project__in=visible_projects(user))
    return get_object_or_404(jobs.select_related("project"), pk=job_id)


def get_endpoint_test(user: User, slug: str, test_id: int) -> EndpointTest:
    """A test of endpoints of a project of the user, or 404."""
    tests = EndpointTest.objects.filter(project__in=visible_projects(user), project__slug=slug)
    return get_object_or_404(tests.select_related("project", "session", "created_by"), pk=test_id)


def get_play(user: User, public_id: str) -> Play:
    """The play into a session, with the session and its project, or 404."""
    plays = Play.objects.filter(session__in=visible_sessions(user)).select_related(
        "session__project", "recorded__project"
    )
    return get_object_or_404(plays, session__public_id=storable_id(public_id))


def get_member(project: Project, member_id: int) -> ProjectMember:
    """A membership in a project that somebody may manage, with the person, or 404."""
    return get_object_or_404(ProjectMember.objects.select_related("user"), project=project, pk=member_id)


def get_invitation(project: Project, invitation_id: int) -> Invitation:
    """An invitation into a project that somebody may manage, or 404."""
    return get_object_or_404(Invitation.objects.select_related("project"), project=project, pk=invitation_id)


def get_token(project: Project, token_id: int) -> ApiToken:
    """A token of a project that somebody may manage, or 404."""
    return get_object_or_404(ApiToken, project=project, pk=token_id)


def get_secret(project: Project, secret_id: int) -> ProjectSecret:
    """A stored key of a project that somebody may manage, or 404."""
    return get_object_or_404(ProjectSecret.objects.select_related("project"), project=project, pk=secret_id)


def get_project_deletion(user: User, deletion_id: int) -> ProjectDeletion:
    """The deletion of a project for whoever asked for it, or 404: the project has no members any more."""
    return get_object_or_404(ProjectDeletion, pk=deletion_id, asked_by_id=user.pk, asked_by__isnull=False)


def find_project_deletion(user: User, slug: str) -> ProjectDeletion | None:
    """The newest deletion of a project of that address which the user asked for; None when there is none, or another
    project has the address now."""
    asked = ProjectDeletion.objects.filter(slug=slug, asked_by_id=user.pk, asked_by__isnull=False)
    newest = asked.order_by("-id").first()
    holder = Project.objects.filter(slug=slug).values_list("pk", flat=True).first()
    return newest if newest is not None and holder in (None, newest.project_id) else None


def get_managed_project(user: User, slug: str) -> Project:
    """The project for one of its owners; 404 for strangers, PermissionDenied for its other members."""
    project = get_project(user, slug)
    require_owner(user, project)
    return project


def may_administer(user: User) -> bool:
    """Whether the user looks after the site: its accounts and how it runs, but not what is in others' projects."""
    return bool(getattr(user, "is_superuser", False))


def still_watching(watchers: Collection[Watcher]) -> set[Watcher]:
    """Those of the watchers who are still logged in and may still read what they watch: for all live connections of a
    process at once."""
    projects = dict(Session.objects.filter(pk__in={one.session_id for one in watchers}).values_list("pk", "project_id"))
    members = ProjectMember.objects.filter(
        project_id__in=set(projects.values()), user_id__in={one.user_id for one in watchers}, user__is_active=True
    )
    reading = set(members.values_list("project_id", "user_id"))
    logins = logins_in_force({one.login_key for one in watchers})
    return {
        one
        for one in watchers
        if (projects.get(one.session_id), one.user_id) in reading and (one.login_key, one.user_id) in logins
    }


def may_write(user: User, project: Project) -> bool:
    """Whether the user may change the project's sessions and run things in it."""
    return memberships_of(user).filter(project=project, role__in=WRITING_ROLES).exists()


def may_manage(user: User, project: Project) -> bool:
    """Whether the user may change the project's settings and members."""
    return memberships_of(user).filter(project=project, role=MemberRole.OWNER).exists()


def require_writer(user: User, project: Project) -> None:
    """Raise PermissionDenied for members who may only read."""
    if not may_write(user, project):
        raise PermissionDenied("You can read this project but not change it.")


def require_owner(user: User, project: Project) -> None:
    """Raise PermissionDenied for members who don't own the project."""
    if not may_manage(user, project):
        raise PermissionDenied("Only an owner of this project can do this.")
