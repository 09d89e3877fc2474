"""What the pages about people show: members, invitations, tokens, stored keys, a person's logins."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from sessions_app import clock
from sessions_app.models import ApiToken, Invitation, Login, Project, ProjectMember, ProjectSecret
from sessions_app.queries.key_pages import KeyPage, read_key_page

PAGE_SIZE = 50


class Standing(StrEnum):
    """Whether a link or token works."""

    IN_FORCE = "in force"
    USED_UP = "used up"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class InvitationLine:
    """One invitation."""

    invitation: Invitation
    standing: Standing


@dataclass(frozen=True, slots=True)
class TokenLine:
    """One token. maker_is_gone: whoever made it is no member any more, and may still have it."""

    token: ApiToken
    standing: Standing
    maker_is_gone: bool


@dataclass(frozen=True, slots=True)
class MemberPage:
    """Members by name. following: send it as `after` for the next ones; empty at the end."""

    members: tuple[ProjectMember, ...]
    following: str
    total: int


def read_members(project: Project, after: str) -> MemberPage:
    """Members behind a name."""
    found = ProjectMember.objects.filter(project=project).select_related("user")
    beyond = found.filter(user__username__gt=after) if after else found
    members = tuple(beyond.order_by("user__username")[: PAGE_SIZE + 1])
    following = members[PAGE_SIZE - 1].user.get_username() if len(members) > PAGE_SIZE else ""
    return MemberPage(members[:PAGE_SIZE], following, found.count())


def read_invitations(project: Project, before: int | None) -> tuple[tuple[InvitationLine, ...], KeyPage[Invitation]]:
    """Invitations, newest first, and the page they are on."""
    page = read_key_page(Invitation.objects.filter(project=project).select_related("created_by"), before, PAGE_SIZE)
    return tuple(InvitationLine(one, standing_of_invitation(one)) for one in page.items), page


def standing_of_invitation(invitation: Invitation) -> Standing:
    """Whether it still lets anybody in."""
    if invitation.revoked_at is not None:
        return Standing.REVOKED
    if invitation.uses >= invitation.most_uses:
        return Standing.USED_UP
    return Standing.EXPIRED if invitation.expires_at <= clock.now() else Standing.IN_FORCE


def read_tokens(project: Project, before: int | None) -> tuple[tuple[TokenLine, ...], KeyPage[ApiToken]]:
    """Tokens, newest first, and the page they are on."""
    page = read_key_page(ApiToken.objects.filter(project=project).select_related("created_by"), before, PAGE_SIZE)
    makers = {token.created_by_id for token in page.items if token.created_by_id is not None}
    members = set(ProjectMember.objects.filter(project=project, user_id__in=makers).values_list("user_id", flat=True))
    lines = (TokenLine(one, standing_of_token(one), one.created_by_id in makers - members) for one in page.items)
    return tuple(lines), page


def standing_of_token(token: ApiToken) -> Standing:
    """Whether it still works."""
    if token.revoked_at is not None:
        return Standing.REVOKED
    is_over = token.expires_at is not None and token.expires_at <= clock.now()
    return Standing.EXPIRED if is_over else Standing.IN_FORCE


def read_secrets(project: Project, before: int | None) -> KeyPage[ProjectSecret]:
    """Stored keys, newest first, without what is in them."""
    found = ProjectSecret.objects.filter(project=project).select_related("set_by").defer("ciphertext")
    return read_key_page(found, before, PAGE_SIZE)


def read_logins(user: User) -> tuple[Login, ...]:
    """The person's logins in force, the last used first."""
    found: QuerySet[Any] = Login.objects.filter(user_id=user.pk, expire_date__gt=clock.now()).defer("session_data")
    return tuple(found.order_by("-seen_at")[:PAGE_SIZE])
