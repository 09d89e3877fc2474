"""Forms about people and access: members, invitations, tokens, stored keys, projects, accounts.

Each form names its fields; whatever else a request sends is not looked at.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from compaction.endpoints.stored_key import origin_of
from compaction.errors import InvalidInput
from sessions_app.models import MemberRole, Project, TokenScope
from sessions_app.translated import translated

MOST_USES: Final = 100
MOST_DAYS: Final = 365
MOST_KEY_CHARS: Final = 4_096
# Addresses below /p/ that are no project.
RESERVED_SLUGS: Final = frozenset({"new"})
ROLES: Final = (
    (MemberRole.VIEWER.value, _("viewer: reads everything of the project")),
    (MemberRole.EDITOR.value, _("editor: also imports, compacts, undoes, runs simulations")),
    (MemberRole.OWNER.value, _("owner: also settings, people, tokens and keys")),
)
LIFETIMES: Final = (("1", _("1 day")), ("7", _("7 days")), ("30", _("30 days")))
TOKEN_LIFETIMES: Final = (
    ("30", _("30 days")),
    ("90", _("90 days")),
    ("365", _("1 year")),
    ("", _("until it is revoked")),
)
SCOPES: Final = (
    (TokenScope.READ.value, pgettext_lazy("token", "read")),
    (TokenScope.WRITE.value, pgettext_lazy("token", "read and write")),
)


class RoleForm(forms.Form):
    """Another role for a member."""

    role = forms.ChoiceField(choices=MemberRole.choices)

    def new_role(self) -> MemberRole:
        """The role chosen."""
        return MemberRole(self.cleaned_data["role"])


class InvitationForm(forms.Form):
    """A new invitation."""

    role = forms.ChoiceField(choices=ROLES, initial=MemberRole.VIEWER.value)
    days = forms.ChoiceField(choices=LIFETIMES, initial="7")
    uses = forms.IntegerField(min_value=1, max_value=MOST_USES, initial=1)
    note = forms.CharField(required=False, max_length=100)

    def lifetime(self) -> timedelta:
        """How long the link works."""
        return timedelta(days=int(self.cleaned_data["days"]))


class TokenForm(forms.Form):
    """A new API token."""

    name = forms.CharField(max_length=100)
    scope = forms.ChoiceField(choices=SCOPES, initial=TokenScope.READ.value)
    days = forms.ChoiceField(choices=TOKEN_LIFETIMES, required=False, initial="90")

    def lifetime(self) -> timedelta | None:
        """How long the token works; None until it is revoked."""
        days = self.cleaned_data["days"]
        return timedelta(days=int(days)) if days else None

    def may_write(self) -> bool:
        """Whether it may change things."""
        return bool(self.cleaned_data["scope"] == TokenScope.WRITE.value)


class SecretForm(forms.Form):
    """A key to store. Its value is never given back, not even to the form that sent it."""

    name = forms.RegexField(
        r"^[A-Z][A-Z0-9_]{0,63}$",
        error_messages={"invalid": _("Use capital letters, digits and underscores, such as TEAM_API_KEY.")},
    )
    place = forms.CharField(max_length=300)
    value = forms.CharField(max_length=MOST_KEY_CHARS, strip=True)

    def clean_place(self) -> str:
        """The origin that the address names."""
        try:
            return origin_of(self.cleaned_data["place"])
        except InvalidInput:
            message = _("Write a host, or an address that starts with https:// or http:// and has no password.")
            raise forms.ValidationError(message) from None

    def clean_value(self) -> str:
        """What can stand in a header."""
        value: str = self.cleaned_data["value"]
        if not value.isascii() or not value.isprintable():
            raise forms.ValidationError(_("A key has only plain ASCII characters."))
        return value

    def clean(self) -> dict[str, Any]:
        """The operator's rules say which keys may go where; a key that could never be sent is not kept."""
        cleaned = super().clean() or {}
        if "name" in cleaned and "place" in cleaned:
            host = urlsplit(cleaned["place"]).hostname or ""
            if refusal := settings.OUTBOUND_RULES.key_refusal(cleaned["name"], host):
                message = gettext("The rules of this site forbid it: %(refusal)s.") % {"refusal": translated(refusal)}
                self.add_error("name", message)
        return cleaned


class ProjectForm(forms.Form):
    """A new project."""

    name = forms.CharField(max_length=200)
    slug = forms.RegexField(
        r"^[a-z0-9][a-z0-9_-]{0,63}$",
        error_messages={"invalid": _("Use small letters, digits, dashes and underscores.")},
    )

    def clean_slug(self) -> str:
        """An address that leads nowhere yet."""
        slug: str = self.cleaned_data["slug"]
        if slug in RESERVED_SLUGS or Project.objects.filter(slug=slug).exists():
            raise forms.ValidationError(_("This address is taken. Choose another."))
        return slug


class AccountNameForm(forms.Form):
    """A name to log in with."""

    username = forms.CharField(
        max_length=150, validators=[UnicodeUsernameValidator()], error_messages={"required": _("Choose a name.")}
    )

    def __init__(self, *arguments: Any, user: User | None = None, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.user = user

    def clean_username(self) -> str:
        """A name nobody else has, whatever its capital letters."""
        name: str = User.normalize_username(self.cleaned_data["username"])
        others = User.objects.filter(username__iexact=name)
        if (others if self.user is None else others.exclude(pk=self.user.pk)).exists():
            raise forms.ValidationError(_("This name is taken. Choose another."))
        return name


class NewPasswordMixin(forms.Form):
    """A new password, twice, held against the site's rules."""

    password = forms.CharField(max_length=MOST_KEY_CHARS, strip=False)
    password_again = forms.CharField(max_length=MOST_KEY_CHARS, strip=False)

    def check_password(self, user: User) -> None:
        """Add what is wrong with the password to the form."""
        password, again = self.cleaned_data.get("password"), self.cleaned_data.get("password_again")
        if password and again and password != again:
            self.add_error("password_again", _("The two passwords differ."))
        if password:
            try:
                validate_password(password, user)
            except forms.ValidationError as error:
                self.add_error("password", error)


class NewAccountForm(AccountNameForm, NewPasswordMixin):
    """An account of somebody who was invited."""

    def clean(self) -> dict[str, Any]:
        """The password must suit the name too."""
        cleaned = super().clean() or {}
        self.check_password(User(username=cleaned.get("username", "")))
        return cleaned


class PasswordForm(NewPasswordMixin):
    """Another password for somebody who is logged in. Who has one must know it."""

    old = forms.CharField(max_length=MOST_KEY_CHARS, strip=False, required=False)

    def __init__(self, *arguments: Any, user: User, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.user = user

    def clean(self) -> dict[str, Any]:
        """The old password first."""
        cleaned = super().clean() or {}
        if self.user.has_usable_password() and not self.user.check_password(cleaned.get("old") or ""):
            self.add_error("old", _("This is not your password."))
        self.check_password(self.user)
        return cleaned


class AuditFilterForm(forms.Form):
    """Which entries of the audit log are shown. What is not valid counts as not said."""

    kind = forms.RegexField(r"^[a-z]{1,20}$", required=False)
    who = forms.CharField(required=False, max_length=150)
    before = forms.IntegerField(required=False, min_value=1, max_value=2**62)

    def said(self, name: str) -> Any:
        """A value, None or empty when it was not said."""
        self.is_valid()
        return self.cleaned_data.get(name)


class BeforeForm(forms.Form):
    """Where a list goes on."""

    before = forms.IntegerField(required=False, min_value=1, max_value=2**62)

    def key(self) -> int | None:
        """The key before which it goes on; None at its beginning."""
        self.is_valid()
        found: int | None = self.cleaned_data.get("before")
        return found
