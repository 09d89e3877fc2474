"""How often somebody may try to log in: per account, and per address.

Kept in the database, so the limits hold over all web processes and restarts. An attempt is paid for before the password
is looked at, in one statement, so guesses that come at once can't all slip through; a right password gives it back.
Accounts that don't exist are counted like those that do, so a refusal tells nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import F

from sessions_app import clock
from sessions_app.models import LoginThrottle
from sessions_app.services.hashed_secrets import hash_secret


@dataclass(frozen=True, slots=True)
class Allowance:
    """So many attempts at once, and one more each `price`."""

    attempts: int
    price: timedelta


OF_ACCOUNT: Final = Allowance(5, timedelta(minutes=1))
# Many people may share an address; nobody shares one with thousands of accounts.
OF_ADDRESS: Final = Allowance(30, timedelta(seconds=10))


def spend_attempt(name: str, address: str | None) -> timedelta | None:
    """Pay for one attempt to log in as `name`; how long to wait instead when there have been too many."""
    with transaction.atomic():
        LoginThrottle.objects.filter(busy_until__lt=clock.now() - timedelta(hours=1)).delete()
    waits = (_spend(_key_of_address(address), OF_ADDRESS), _spend(_key_of_account(name), OF_ACCOUNT))
    refused = [wait for wait in waits if wait is not None]
    return max(refused) if refused else None


def forgive_attempts(name: str, address: str | None) -> None:
    """The password was right: the account starts afresh, and the address has this attempt back."""
    LoginThrottle.objects.filter(who=_key_of_account(name)).delete()
    LoginThrottle.objects.filter(who=_key_of_address(address)).update(busy_until=F("busy_until") - OF_ADDRESS.price)


def _spend(who: str, allowance: Allowance) -> timedelta | None:
    now = clock.now()
    latest = now + allowance.price * (allowance.attempts - 1)
    values: dict[str, Any] = {"who": who, "now": now, "price": allowance.price, "latest": latest}
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO sessions_app_loginthrottle AS throttle (who, busy_until) VALUES (%(who)s, %(now)s + %(price)s)"
            " ON CONFLICT (who) DO UPDATE SET busy_until = greatest(throttle.busy_until, %(now)s) + %(price)s"
            " WHERE throttle.busy_until <= %(latest)s RETURNING 1",
            values,
        )
        if cursor.fetchone():
            return None
    busy_until = LoginThrottle.objects.filter(who=who).values_list("busy_until", flat=True).first()
    return timedelta() if busy_until is None else max(busy_until - latest, timedelta())


def _key_of_account(name: str) -> str:
    return hash_secret(f"account {name.casefold()}")


def _key_of_address(address: str | None) -> str:
    """One key for all addresses of an IPv6 network of the size that one connection gets."""
    if address is not None and isinstance(parsed := ip_address(address), IPv6Address):
        address = str(IPv6Address(int(parsed) >> 64 << 64))
    return hash_secret(f"address {address}")
