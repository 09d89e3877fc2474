"""Where one embedded server keeps its things: data, locks, log and socket.

The idea: everything lies in one home folder, except the socket, whose path the kernel limits to about 107 bytes. It
gets a short folder under /tmp, named after the data folder, so that every process computes the same one. (Not under
XDG_RUNTIME_DIR: that differs between a login and a cron job of one user, and is deleted at logout under the feet of a
site that goes on running.)
"""

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from hermes_site.postgres.account import Account, can_enter, server_account, user_name
from hermes_site.postgres.errors import ServerUnavailable

SHARED_HOMES = Path("/var/lib/hermes-sessions")
SOCKET_PARENTS = (Path("/tmp"), Path("/var/tmp"))


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of one server. The operator `wanted` the home there; where root has to move it, the two differ."""

    wanted: Path
    home: Path
    account: Account | None

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def log(self) -> Path:
        return self.home / "postgres.log"

    @property
    def gate_lock(self) -> Path:
        """Held while somebody starts or stops the server."""
        return self.home / "gate.lock"

    @property
    def users_lock(self) -> Path:
        """Shared by all who use the server."""
        return self.home / "users.lock"

    @property
    def is_relocated(self) -> bool:
        return self.home != self.wanted

    @property
    def server_uid(self) -> int:
        return self.account.uid if self.account else os.geteuid()

    @property
    def server_user(self) -> str:
        return self.account.name if self.account else user_name(os.geteuid())

    @property
    def sockets(self) -> Path:
        name = f"hs-{short_hash(f'{self.server_uid}:{self.data.resolve()}')}"
        parent = next((parent for parent in SOCKET_PARENTS if os.access(parent, os.W_OK | os.X_OK)), None)
        if parent is None:
            raise ServerUnavailable("No folder for the database socket: neither /tmp nor /var/tmp is writable.")
        return parent / name

    @property
    def data_major(self) -> int | None:
        """The major version that wrote the data, or None when there is no data yet."""
        try:
            return int((self.data / "PG_VERSION").read_text(encoding="ascii").strip())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise ServerUnavailable(f"The database in {self.data} can't be read ({error}).") from error

    def prepare(self) -> None:
        """Create what is missing. Raises ServerUnavailable with the reason when the home can't be used."""
        try:
            make_folder(self.home)
        except OSError as error:
            raise self.not_usable(error.strerror or str(error)) from error
        if not os.access(self.home, os.W_OK | os.X_OK):
            raise self.not_usable("it is not writable")
        if self.data.exists() and (owner := self.data.stat().st_uid) != self.server_uid:
            raise self.not_usable(f"its data belongs to {user_name(owner)}")

    def not_usable(self, reason: str) -> ServerUnavailable:
        return ServerUnavailable(
            f"The database can't be kept in {self.home}: {reason} (tried as {self.server_user}); set "
            "HERMES_SITE_VAR_DIR to a folder of your own, or DATABASE_URL to a PostgreSQL server."
        )

    def prepare_sockets(self) -> Path:
        """The socket folder, made or checked: a folder of the server's user that nobody else can enter."""
        folder = self.sockets
        try:
            folder.mkdir(mode=0o700)
            own(folder, self.account)
        except FileExistsError:
            pass
        except OSError as error:
            raise ServerUnavailable(f"The socket folder {folder} can't be made ({error.strerror}).") from error
        if not self.has_private_sockets():
            raise ServerUnavailable(
                f"The socket folder {folder} is taken: it is no private folder of user {self.server_user}; remove it."
            )
        return folder

    def has_private_sockets(self) -> bool:
        """Whether the socket folder is there and can only have been made by the server's user, or by root for it."""
        try:
            found = self.sockets.lstat()
        except OSError:
            return False
        return stat.S_ISDIR(found.st_mode) and found.st_uid == self.server_uid and not found.st_mode & 0o077


def find_place(wanted: Path) -> Place:
    """Decide on the home. Only root ever moves it: when the server's user can't enter the wanted folder.

    A home that was moved before and holds data stays in use even if the wanted folder can be entered by now.
    """
    wanted = wanted.resolve()
    account = server_account(wanted / "data")
    here = Place(wanted, wanted, account)
    if account is None:
        return here
    elsewhere = moved_place(wanted)
    if here.data_major is None and elsewhere.data_major is not None:
        return elsewhere
    here.prepare()
    if can_enter(account, here.home):
        return here
    return elsewhere


def moved_place(wanted: Path) -> Place:
    home = SHARED_HOMES / short_hash(str(wanted))
    return Place(wanted, home, server_account(home / "data"))


def make_folder(folder: Path) -> None:
    """Like `mkdir -p`, but what is made can be entered by the server's user whatever the umask says."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        path.chmod(0o755)
    if not folder.is_dir():
        raise NotADirectoryError(0, "it is not a folder")


def own(path: Path, account: Account | None) -> None:
    if account:
        os.chown(path, account.uid, account.gid)


def short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]
