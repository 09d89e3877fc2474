"""Projects and their members."""

from __future__ import annotations

from typing import Final

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from compaction.wording import worded
from sessions_app.models import AuditAction, MemberRole, PolicyRevision, Project, ProjectDeletion, ProjectMember
from sessions_app.services.audit import THE_SITE, AuditOrigin, record_audit
from sessions_app.services.owner import ensure_local_owner

DEFAULT_SLUG: Final = "default"


class ProjectShut(Exception):
    """The project is being deleted, or is gone: nothing and nobody may come into it any more."""

    def __init__(self, slug: str) -> None:
        super().__init__(f"the project {slug!r} is being deleted; nothing can be added to it")


def find_open_project(slug: str) -> Project | None:
    """The project that something may be brought into; None where there is none. Raises ProjectShut."""
    found = Project.objects.filter(slug=slug).first()
    if found is not None and _is_shut(found):
        raise ProjectShut(slug)
    return found


def lock_open_project(project: Project) -> None:
    """Until the transaction ends nobody can ask for the project's deletion. Raises ProjectShut when somebody has.

    For whatever lets people and programs in: a deletion that was asked for has thrown out those who were there.
    """
    found = Project.objects.select_for_update(no_key=True).filter(pk=project.pk).first()
    if found is None or _is_shut(found):
        raise ProjectShut(project.slug)


def _is_shut(project: Project) -> bool:
    return ProjectDeletion.objects.filter(project=project).exists()


def create_project(
    slug: str, name: str, owner: AbstractBaseUser | None = None, *, origin: AuditOrigin = THE_SITE
) -> Project:
    """A new project, with its owner and its first policy revision. Raises IntegrityError when the slug is taken."""
    with transaction.atomic():
        project = Project.objects.create(slug=slug, name=name)
        PolicyRevision.objects.create(project=project, number=1, settings={}, note=worded("Defaults"))
        if owner is not None:
            ProjectMember.objects.create(project=project, user_id=owner.pk, role=MemberRole.OWNER)
        details = () if owner is None else (("owner", owner.get_username()),)
        record_audit(origin, AuditAction.PROJECT_CREATED, project=project, subject=slug, details=details)
    return project


def default_project() -> Project:
    """The project that takes what names no project; made when it is first asked for, and the local owner's.

    Raises ProjectShut while it is being deleted.
    """
    found = find_open_project(DEFAULT_SLUG)
    if found is not None:
        return found
    with transaction.atomic():
        project, is_new = Project.objects.get_or_create(slug=DEFAULT_SLUG, defaults={"name": "Default"})
        if is_new:
            PolicyRevision.objects.create(project=project, number=1, settings={}, note=worded("Defaults"))
            add_member(project, ensure_local_owner(), MemberRole.OWNER)
    return project


def add_member(
    project: Project, user: AbstractBaseUser, role: MemberRole, *, origin: AuditOrigin = THE_SITE
) -> ProjectMember:
    """Give `user` a role in `project`, or another one than before. People do this by invitations; commands may.
    Raises ProjectShut."""
    with transaction.atomic():
        lock_open_project(project)
        member, _ = ProjectMember.objects.update_or_create(
            project=project, user_id=user.pk, defaults={"role": MemberRole(role)}
        )
        details = (("role", str(role)),)
        record_audit(origin, AuditAction.MEMBER_ADDED, project=project, subject=user.get_username(), details=details)
    return member
