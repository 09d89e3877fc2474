"""People's accounts: made, renamed, given another password, and logged out everywhere.

Must not check passwords against rules: forms and commands do that before they come here.
"""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, User
from django.db import transaction

from sessions_app import clock
from sessions_app.models import AuditAction, Login
from sessions_app.services.audit import AuditOrigin, record_audit
from sessions_app.services.invitations import accept_invitation


def create_account(origin: AuditOrigin, name: str, password: str | None, *, is_administrator: bool = False) -> User:
    """A new account; without a password only a one-time link lets them in. Raises IntegrityError for a taken name."""
    make = User.objects.create_superuser if is_administrator else User.objects.create_user
    with transaction.atomic():
        user = make(name, password=password)
        details = (("administrator", "yes"),) if is_administrator else ()
        record_audit(origin, AuditAction.ACCOUNT_CREATED, subject=name, details=details)
    return user


def join_with_new_account(origin: AuditOrigin, secret: str, name: str, password: str) -> User:
    """An account for somebody who was invited, and their role. Raises InvitationSpent and IntegrityError; then
    there is no account either."""
    with transaction.atomic():
        user = create_account(origin, name, password)
        accept_invitation(origin, secret, user)
    return user


def rename_account(origin: AuditOrigin, user: User, name: str) -> None:
    """Another name to log in with. Raises IntegrityError for a taken one."""
    before = User.objects.values_list("username", flat=True).get(pk=user.pk)
    if before == name:
        return
    with transaction.atomic():
        user.username = name
        user.save(update_fields=["username"])
        record_audit(origin, AuditAction.ACCOUNT_RENAMED, subject=name, details=(("before", before),))


def change_password(origin: AuditOrigin, user: User, password: str, *, keep: str | None = None) -> None:
    """A new password. It ends all logins of the person but the one with the key `keep`."""
    with transaction.atomic():
        user.set_password(password)
        user.save(update_fields=["password"])
        end_logins(user, keep=keep)
        record_audit(origin, AuditAction.ACCOUNT_PASSWORD, subject=user.username)


def log_out_everywhere(origin: AuditOrigin, user: AbstractBaseUser, *, keep: str | None = None) -> int:
    """End all logins of the person but the one with the key `keep`; returns how many there were."""
    with transaction.atomic():
        ended = end_logins(user, keep=keep)
        details = (("logins", str(ended)),)
        record_audit(origin, AuditAction.LOGIN_ENDED_EVERYWHERE, subject=user.get_username(), details=details)
    return ended


def forget_ended_logins() -> int:
    """Delete the logins of everybody that have run out; returns how many there were."""
    ended, _ = Login.objects.filter(expire_date__lt=clock.now()).delete()
    return ended


def end_logins(user: AbstractBaseUser, *, keep: str | None = None) -> int:
    """Delete the person's logins; open pages and live connections lose them too."""
    ended, _ = Login.objects.filter(user_id=user.pk).exclude(session_key=keep or "").delete()
    return ended
