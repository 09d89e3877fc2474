"""The members of a project: their roles, and how they go. A project never loses its last owner.

Whoever is no owner any more leaves no way back: the invitations they made are revoked with their role.
"""

from __future__ import annotations

from django.db import transaction

from sessions_app import clock
from sessions_app.models import AuditAction, Invitation, MemberRole, Project, ProjectMember
from sessions_app.services.audit import AuditOrigin, record_audit


class LastOwner(Exception):
    """The only owner who can log in would be gone."""


def change_role(origin: AuditOrigin, project: Project, member_id: int, role: MemberRole) -> ProjectMember:
    """Give a member another role. Raises LastOwner, and ProjectMember.DoesNotExist when they are gone."""
    with transaction.atomic():
        member = _locked_member(project, member_id)
        before = member.role
        if before == role:
            return member
        if before == MemberRole.OWNER:
            _require_other_owner(member)
            _revoke_invitations_of(member)
        member.role = role
        member.save(update_fields=["role"])
        details = (("before", before), ("after", str(role)))
        record_audit(
            origin, AuditAction.MEMBER_ROLE, project=project, subject=member.user.get_username(), details=details
        )
    return member


def remove_member(origin: AuditOrigin, project: Project, member_id: int) -> ProjectMember:
    """Take somebody, or oneself, out of the project. Raises LastOwner and ProjectMember.DoesNotExist."""
    with transaction.atomic():
        member = _locked_member(project, member_id)
        if member.role == MemberRole.OWNER:
            _require_other_owner(member)
        _revoke_invitations_of(member)
        is_own = origin.user is not None and origin.user.pk == member.user_id
        action = AuditAction.MEMBER_LEFT if is_own else AuditAction.MEMBER_REMOVED
        details = (("role", member.role),)
        record_audit(origin, action, project=project, subject=member.user.get_username(), details=details)
        member.delete()
    return member


def _locked_member(project: Project, member_id: int) -> ProjectMember:
    """The member; until the transaction ends nobody else changes members of this project."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    return ProjectMember.objects.select_related("user").get(project=project, pk=member_id)


def _require_other_owner(member: ProjectMember) -> None:
    owners = ProjectMember.objects.filter(project_id=member.project_id, role=MemberRole.OWNER, user__is_active=True)
    if not owners.exclude(pk=member.pk).exists():
        raise LastOwner


def _revoke_invitations_of(member: ProjectMember) -> None:
    made = Invitation.objects.filter(project_id=member.project_id, created_by_id=member.user_id)
    made.filter(revoked_at__isnull=True).update(revoked_at=clock.now())
