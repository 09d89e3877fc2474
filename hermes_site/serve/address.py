"""Where the running site is reached: `serve` leaves its address in a file, other commands find it there.

The idea: `serve` holds a lock on the file for as long as it runs, and the kernel lets go of it however `serve` ends.
So a file that nobody holds was left by a site that was killed, and counts for nothing. Of several sites that share a
folder the one that came up last is found.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

FILE_NAME = "address"


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
    path = folder / FILE_NAME
    unfinished = folder / f"{FILE_NAME}.{os.getpid()}"
    with unfinished.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(url)
        file.flush()
        unfinished.replace(path)
        try:
            yield
        finally:
            remove_if_same(path, file.fileno())


def remove_if_same(path: Path, descriptor: int) -> None:
    """Another site may have put its own address in the place of this one."""
    with suppress(OSError):
        if os.path.samestat(path.stat(), os.fstat(descriptor)):
            path.unlink()


def running_address(folder: Path) -> str | None:
    """The address of the site that runs in `folder`, without a slash at its end; None when none is known to run."""
    try:
        with (folder / FILE_NAME).open(encoding="utf-8") as file:
            return file.read() if is_held(file.fileno()) else None
    except (OSError, UnicodeDecodeError):
        return None


def is_held(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
