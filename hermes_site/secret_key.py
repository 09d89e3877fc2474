"""The key that signs cookies and links: made once per installation and kept in a file only its owner can read.

Must not print the key or accept an empty one. Two processes that start at once agree on one key, because the file
appears under its name only when it is complete and the first one wins.
"""

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

KEY_BYTES = 50


def load_or_create_secret_key(path: Path) -> str:
    """The key in `path`, made first if the file is not there. Raises ImproperlyConfigured when neither works."""
    try:
        if not path.exists():
            create_secret_key(path)
        key = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(unkept(path, error)) from error
    if not key:
        raise ImproperlyConfigured(f"{path} is empty; delete it, or set HERMES_SITE_SECRET_KEY.")
    return key


def unkept(path: Path, error: OSError | UnicodeDecodeError) -> str:
    """One sentence about a key that can be neither read nor made."""
    reason = error.strerror if isinstance(error, OSError) else "it is not text"
    return (
        f"The secret key can't be kept in {path} ({reason}); set HERMES_SITE_VAR_DIR to a folder of your own, "
        "or HERMES_SITE_SECRET_KEY to the key."
    )


def create_secret_key(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(KEY_BYTES))
        if not path.exists():
            link_if_first(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def link_if_first(unfinished: Path, path: Path) -> None:
    """Give the finished file its name unless another process was quicker."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        return
