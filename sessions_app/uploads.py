"""Uploaded files on disk, until the import has read them.

Each upload gets a folder of its own and each file a folder in it, so that names can't meet and a file keeps the name
it came with: some formats have no other identity for their session.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile as Upload

from compaction.storable import storable_text
from sessions_app.services.imports import UploadedFile

MOST_NAME_CHARS = 120


def keep_uploads(uploads: Iterable[Upload[bytes]]) -> list[UploadedFile]:
    """The files, written to disk piece by piece."""
    folder = Path(settings.VAR_DIR) / "uploads" / secrets.token_hex(8)
    return [keep_upload(folder / str(number), upload) for number, upload in enumerate(uploads)]


def keep_upload(folder: Path, upload: Upload[bytes]) -> UploadedFile:
    folder.mkdir(parents=True, mode=0o700)
    name = disk_name(upload.name or "")
    path = folder / name
    size_bytes = 0
    with path.open("wb") as file:
        for piece in upload.chunks():
            size_bytes += file.write(piece)
    return UploadedFile(name, str(path), size_bytes)


def disk_name(name: str) -> str:
    """The last part of a name, without what a file system can't take."""
    plain = storable_text(Path(name.replace("\\", "/")).name).replace("/", "_").strip(". ")
    stem, dot, ending = plain.rpartition(".")
    if len(plain) <= MOST_NAME_CHARS:
        return plain or "upload"
    return f"{(stem or ending)[: MOST_NAME_CHARS - 12]}{dot}{ending[:11]}" if stem else plain[:MOST_NAME_CHARS]
