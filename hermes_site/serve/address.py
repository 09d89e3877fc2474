"""Where the running site is reached: each `serve` leaves its address in a file, other commands find it there.

The idea: `serve` holds a lock on its file for as long as it runs, and the kernel lets go of it however `serve` ends.
So a file that nobody holds was left by a site that was killed, and counts for nothing. Every site has a file of its
own and removes no other that is held, so of several that share a folder the one that came up last is found, and once
it has stopped the one before it.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

NAME_BEGINS = "address"


@contextmanager
def announced(folder: Path, url: str) -> Iterator[None]:
    """Leave `url` in `folder` while the block runs. Where that can't be written the site runs without being found."""
    with ExitStack() as left:
        with suppress(OSError):
            left.enter_context(address_file(folder, url))
        yield


@contextmanager
def address_file(folder: Path, url: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    remove_left_behind(folder)
    path = folder / f"{NAME_BEGINS}-{secrets.token_hex(4)}"
    # Nobody finds the file before it is held.
    unfinished = path.with_name(f".{path.name}")
    with unfinished.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(url)
        file.flush()
        unfinished.replace(path)
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()


def remove_left_behind(folder: Path) -> None:
    """Remove the files of sites that were killed."""
    for path in folder.glob(f"{NAME_BEGINS}*"):
        if read_if_held(path) is None:
            with suppress(OSError):
                path.unlink()


def running_address(folder: Path) -> str | None:
    """The address of the site that came up last of those that run in `folder`, without a slash at its end; None when
    none is known to run."""
    held = [found for path in folder.glob(f"{NAME_BEGINS}*") if (found := read_if_held(path)) is not None]
    return max(held)[1] if held else None


def read_if_held(path: Path) -> tuple[int, str] | None:
    """When the file was written, in nanoseconds, and the address in it; None when no site that runs holds it."""
    try:
        with path.open(encoding="utf-8") as file:
            written_at = os.fstat(file.fileno()).st_mtime_ns
            return (written_at, file.read()) if is_held(file.fileno()) else None
    except (OSError, UnicodeDecodeError):
        return None


def is_held(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
