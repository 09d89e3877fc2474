"""Tokens of the API: made, spent, revoked.

The secret is told once and never stored. It is 256 random bits, so a plain hash of it is enough: there is no list of
likely secrets to try. The rate is kept on the token itself, so it holds over all web processes: each request moves
`busy_until` on by the time one request is worth, and is refused while that lies more than the allowance ahead.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import DateTimeField, ExpressionWrapper, F, Q, Value
from django.db.models.functions import Greatest

from compaction.storable import storable_text
from sessions_app import clock
from sessions_app.models import ApiToken, AuditAction, Project, TokenScope
from sessions_app.services.audit import THE_SITE, AuditOrigin, minute_of, record_audit
from sessions_app.services.hashed_secrets import hash_secret
from sessions_app.services.projects import lock_open_project

PREFIX: Final = "hms_"
SECRET_BYTES: Final = 32
# A token that was idle may ask a minute's worth of requests at once.
ALLOWANCE: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token with its secret, which nobody can look up again."""

    token: ApiToken
    secret: str


def issue_token(
    project: Project,
    name: str,
    *,
    may_write: bool = False,
    expires_at: datetime | None = None,
    origin: AuditOrigin = THE_SITE,
) -> IssuedToken:
    """A new token for `project`. Raises ProjectShut, and IntegrityError when it has, or had, a token of that name."""
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    with transaction.atomic():
        lock_open_project(project)
        token = ApiToken.objects.create(
            project=project,
            name=storable_text(name),
            scope=TokenScope.WRITE if may_write else TokenScope.READ,
            token_hash=hash_secret(secret),
            created_by_id=None if origin.user is None else origin.user.pk,
            expires_at=expires_at,
        )
        details = (("scope", token.scope), ("expires", "" if expires_at is None else minute_of(expires_at)))
        record_audit(origin, AuditAction.TOKEN_CREATED, project=project, subject=token.name, details=details)
    return IssuedToken(token, secret)


def revoke_token(project: Project, name: str, *, origin: AuditOrigin = THE_SITE) -> bool:
    """End a token for good; False when the project has no such token that is in force."""
    unrevoked = ApiToken.objects.filter(project=project, name=storable_text(name), revoked_at__isnull=True)
    with transaction.atomic():
        if not unrevoked.update(revoked_at=clock.now()):
            return False
        record_audit(origin, AuditAction.TOKEN_REVOKED, project=project, subject=name)
    return True


def find_token(secret: str) -> ApiToken | None:
    """The token in force with this secret, with its project; None for any other text."""
    in_force = ApiToken.objects.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=clock.now()))
    in_force = in_force.filter(revoked_at__isnull=True).select_related("project")
    return in_force.filter(token_hash=hash_secret(secret.strip())).first()


def spend_request(token: ApiToken, requests_a_minute: int) -> timedelta | None:
    """Count one request of `token`; how long to wait instead when its allowance is used up, None when it is not.

    One statement checks and counts, so requests that come at once can't all slip through.
    """
    now, price = clock.now(), ALLOWANCE / requests_a_minute
    latest = now + ALLOWANCE - price
    affordable = ApiToken.objects.filter(Q(busy_until__isnull=True) | Q(busy_until__lte=latest), pk=token.pk)
    paid = ExpressionWrapper(
        Greatest(F("busy_until"), Value(now, DateTimeField())) + Value(price), output_field=DateTimeField()
    )
    if affordable.update(busy_until=paid, last_used_at=now):
        return None
    busy_until = ApiToken.objects.values_list("busy_until", flat=True).get(pk=token.pk)
    return _wait(busy_until, latest)


def _wait(busy_until: datetime | None, latest: datetime) -> timedelta:
    return timedelta() if busy_until is None else max(busy_until - latest, timedelta())
