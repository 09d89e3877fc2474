"""Invitations by link: made, revoked, accepted.

The secret is told once and stored as a hash. A use is counted in the statement that checks whether one is left, so a
link for one person lets in one person, however many open it at once.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F, QuerySet

from compaction.storable import storable_text
from sessions_app import clock
from sessions_app.models import AuditAction, Invitation, MemberRole, Project, ProjectMember
from sessions_app.services.audit import AuditOrigin, minute_of, record_audit
from sessions_app.services.hashed_secrets import hash_secret
from sessions_app.services.projects import ProjectShut, lock_open_project

SECRET_BYTES: Final = 32
# From the least to the most; an invitation never takes a role away.
_RANKS: Final = (MemberRole.VIEWER, MemberRole.EDITOR, MemberRole.OWNER)


class InvitationSpent(Exception):
    """The invitation is used up, revoked, expired or unknown."""


@dataclass(frozen=True, slots=True)
class IssuedInvitation:
    """A new invitation with its secret, which nobody can look up again."""

    invitation: Invitation
    secret: str


def create_invitation(
    origin: AuditOrigin, project: Project, role: MemberRole, *, lifetime: timedelta, most_uses: int = 1, note: str = ""
) -> IssuedInvitation:
    """A new link for up to `most_uses` people. Raises ProjectShut."""
    secret, now = secrets.token_urlsafe(SECRET_BYTES), clock.now()
    with transaction.atomic():
        lock_open_project(project)
        invitation = Invitation.objects.create(
            project=project,
            role=role,
            note=storable_text(note),
            token_hash=hash_secret(secret),
            created_by_id=None if origin.user is None else origin.user.pk,
            created_at=now,
            expires_at=now + lifetime,
            most_uses=most_uses,
        )
        details = (("role", str(role)), ("uses", str(most_uses)), ("expires", minute_of(invitation.expires_at)))
        record_audit(
            origin, AuditAction.INVITATION_CREATED, project=project, subject=_name(invitation), details=details
        )
    return IssuedInvitation(invitation, secret)


def revoke_invitation(origin: AuditOrigin, invitation: Invitation) -> bool:
    """End an invitation; False when it was revoked before."""
    with transaction.atomic():
        found = Invitation.objects.filter(pk=invitation.pk, revoked_at__isnull=True)
        if not found.update(revoked_at=clock.now()):
            return False
        record_audit(origin, AuditAction.INVITATION_REVOKED, project=invitation.project, subject=_name(invitation))
    return True


def find_invitation(secret: str) -> Invitation | None:
    """The invitation that still lets somebody in, with its project; None for any other secret."""
    return _usable(secret).select_related("project", "created_by").first()


def accept_invitation(origin: AuditOrigin, secret: str, user: AbstractBaseUser) -> ProjectMember:
    """Make `user` a member. Who is one already with this role or more uses nothing up. Raises InvitationSpent."""
    with transaction.atomic():
        invitation = find_invitation(secret)
        if invitation is None:
            raise InvitationSpent
        project = invitation.project
        try:
            lock_open_project(project)
        except ProjectShut:
            raise InvitationSpent from None
        member = ProjectMember.objects.filter(project=project, user_id=user.pk).first()
        role = MemberRole(invitation.role)
        if member is not None and _RANKS.index(MemberRole(member.role)) >= _RANKS.index(role):
            return member
        if not _usable(secret).update(uses=F("uses") + 1):
            raise InvitationSpent
        member, _ = ProjectMember.objects.update_or_create(project=project, user_id=user.pk, defaults={"role": role})
        details = (("role", str(role)), ("invitation", _name(invitation)))
        by_them = AuditOrigin(origin.source, user, origin.name, origin.address)
        record_audit(
            by_them, AuditAction.INVITATION_ACCEPTED, project=project, subject=user.get_username(), details=details
        )
    return member


def _usable(secret: str) -> QuerySet[Invitation]:
    found = Invitation.objects.filter(token_hash=hash_secret(secret), revoked_at__isnull=True)
    return found.filter(expires_at__gt=clock.now(), uses__lt=F("most_uses"))


def _name(invitation: Invitation) -> str:
    """What the log calls an invitation: its number and its note."""
    return f"#{invitation.pk} {invitation.note}".strip()
