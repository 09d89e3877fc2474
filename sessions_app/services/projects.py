"""Projects and their members."""

from __future__ import annotations

from typing import Final

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from compaction.wording import worded
from sessions_app.models import AuditAction, MemberRole, PolicyRevision, Project, ProjectMember
from sessions_app.services.audit import THE_SITE, AuditOrigin, record_audit
from sessions_app.services.owner import ensure_local_owner

DEFAULT_SLUG: Final = "default"


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
    """The project that takes what names no project; made when it is first asked for, and the local owner's."""
    found = Project.objects.filter(slug=DEFAULT_SLUG).first()
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
    """Give `user` a role in `project`, or another one than before. People do this by invitations; commands may."""
    with transaction.atomic():
        member, _ = ProjectMember.objects.update_or_create(
            project=project, user_id=user.pk, defaults={"role": MemberRole(role)}
        )
        details = (("role", str(role)),)
        record_audit(origin, AuditAction.MEMBER_ADDED, project=project, subject=user.get_username(), details=details)
    return member
