"""The login form: Django's own, with a limit on attempts in front of it.

A refusal comes before the password is looked at and says nothing but how long to wait: not whether the account exists,
nor whether the password was right.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from compaction.storable import is_storable
from compaction.wording import worded
from sessions_app.models import AuditAction
from sessions_app.origins import client_address, page_origin
from sessions_app.services import record_audit
from sessions_app.services.login_attempts import forgive_attempts, spend_attempt

MOST_PASSWORD_CHARS = 4_096


class LoginForm(AuthenticationForm):
    """wait: how long somebody has to wait who tried too often; None for everybody else."""

    error_messages = {
        "invalid_login": _("This name and this password don't belong together. Capital letters count."),
        "inactive": _("This name and this password don't belong together. Capital letters count."),
    }
    request: HttpRequest

    def __init__(self, request: Any = None, *arguments: Any, **more: Any) -> None:
        super().__init__(request, *arguments, **more)
        self.wait: timedelta | None = None
        self.fields["password"].max_length = MOST_PASSWORD_CHARS  # type: ignore[attr-defined]  # a CharField

    def clean(self) -> dict[str, Any]:
        """Whoever has attempts left and the right password."""
        name = self.cleaned_data.get("username") or ""
        if not (name and self.cleaned_data.get("password")):
            return self.cleaned_data
        if not is_storable(name):
            raise self.get_invalid_login_error()
        address = client_address(self.request)
        self.wait = spend_attempt(name, address)
        if self.wait is not None:
            self._record(AuditAction.LOGIN_REFUSED, name)
            raise forms.ValidationError(wait_words(self.wait), code="too_many_attempts")
        try:
            cleaned: dict[str, Any] = super().clean()
        except forms.ValidationError:
            self._record(AuditAction.LOGIN_FAILED, name)
            raise
        forgive_attempts(name, address)
        return cleaned

    def _record(self, action: AuditAction, name: str) -> None:
        """Tell the log. A name that nobody has may be a password in the wrong field, so it is not kept."""
        is_known = User.objects.filter(username=name).exists()
        record_audit(page_origin(self.request), action, subject=name if is_known else worded("an unknown name"))


def wait_words(wait: timedelta) -> str:
    """What somebody is told who tried too often."""
    seconds = max(1, round(wait.total_seconds()))
    if seconds < 90:
        told = ngettext("%(number)d second", "%(number)d seconds", seconds) % {"number": seconds}
    else:
        minutes = -(-seconds // 60)
        told = ngettext("%(number)d minute", "%(number)d minutes", minutes) % {"number": minutes}
    return gettext("There were too many attempts to log in. Try again in %(wait)s.") % {"wait": told}
