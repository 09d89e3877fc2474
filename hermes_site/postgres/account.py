"""Which user of the operating system runs the server.

PostgreSQL refuses to run as root, so root hands it to an unprivileged user; anyone else runs it as themselves.
"""

import os
import pwd
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_site.postgres.errors import ServerUnavailable

# The first is made for it. Others on the machine may run things as the second too, which is why it comes later.
PREFERRED_NAMES = ("postgres", "nobody")
FIRST_PERSONAL_UID = 1000


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    uid: int
    gid: int

    def popen_options(self) -> dict[str, Any]:
        """Keyword arguments with which `subprocess` runs a program as this user, with no group but its own."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def popen_options(account: Account | None) -> dict[str, Any]:
    return account.popen_options() if account else {}


def server_account(data: Path) -> Account | None:
    """The user to drop to, or None when we aren't root and the server runs as ourselves.

    The owner of existing data stays its user. Raises ServerUnavailable when root finds nobody to drop to.
    """
    if os.geteuid() != 0:
        return None
    if data.exists() and (owner := data.stat().st_uid) != 0:
        return owner_of(data, owner)
    for account in unprivileged_accounts():
        if can_become(account):
            return account
    raise ServerUnavailable(
        "PostgreSQL refuses to run as root and there is no unprivileged user to run it as: create one with "
        "`useradd --system postgres`, start the site as another user, or set DATABASE_URL."
    )


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def owner_of(data: Path, uid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise ServerUnavailable(
            f"The database in {data} belongs to uid {uid}, a user that this machine does not know and that PostgreSQL "
            f"therefore can't run as: give it to one that exists (`chown -R`)."
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def unprivileged_accounts() -> Iterator[Account]:
    """The candidates, best first: the preferred names, then every other system user in the order of the file."""
    known = {entry.pw_name: entry for entry in pwd.getpwall() if entry.pw_uid != 0}
    others = [name for name, entry in known.items() if entry.pw_uid < FIRST_PERSONAL_UID]
    for name in (*PREFERRED_NAMES, *(name for name in others if name not in PREFERRED_NAMES)):
        if entry := known.get(name):
            yield Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def can_become(account: Account) -> bool:
    """Try it: inside some containers even root may not switch to every user."""
    return runs_as(account, "true")


def can_enter(account: Account | None, folder: Path) -> bool:
    return runs_as(account, 'test -x "$0"', str(folder))


def can_execute(account: Account | None, program: Path) -> bool:
    return runs_as(account, 'test -f "$0" && test -x "$0"', str(program))


def runs_as(account: Account | None, script: str, argument: str = "sh") -> bool:
    """Whether a shell test holds for that user. The kernel is asked, so access lists and mounts count too."""
    try:
        outcome = subprocess.run(
            ["/bin/sh", "-c", script, argument],
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            **popen_options(account),
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return outcome.returncode == 0
