"""Template words of people and their roles. Formatting only."""

from __future__ import annotations

from django import template
from django.utils.translation import pgettext

from sessions_app.models import MemberRole

register = template.Library()


@register.filter
def role_name(role: str | None) -> str:
    """A role in the reader's language; nothing for somebody without one."""
    names = {
        MemberRole.OWNER: pgettext("role", "owner"),
        MemberRole.EDITOR: pgettext("role", "editor"),
        MemberRole.VIEWER: pgettext("role", "viewer"),
    }
    return names[MemberRole(role)] if role else ""
