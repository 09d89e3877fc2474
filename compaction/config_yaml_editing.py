"""Changing a YAML settings file without losing what its author wrote around the values: comments, order, other blocks.

Text is first read and judged by `config_yaml`; here it is only rewritten. A value that is already as wanted keeps the
spelling it has, keys that are no longer wanted go, new ones are put at the end of their block. Nothing is constructed
from tags, and keys that hold secrets are taken out wherever blocks are cut from a file.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from compaction.config_yaml import not_yaml, read_config_yaml
from compaction.main_model import MODEL
from compaction.policy_reading import AUXILIARY, COMPRESSION
from compaction.unused_settings import SECRET_KEYS

_BLOCKS: Final = (COMPRESSION, AUXILIARY, MODEL)
# Wider than any line that people write: long values are not folded.
_WIDTH: Final = 1_000_000


def cut_blocks(text: str) -> str:
    """The `compression:`, `auxiliary:` and `model:` blocks of a file with their comments, without secrets.

    Raises InvalidPolicy as reading does.
    """
    document = _load(text)
    for key in [key for key in document if key not in _BLOCKS]:
        del document[key]
    _drop_secrets(document)
    return _dump(document)


def put_blocks(text: str, blocks: Mapping[str, Any]) -> str:
    """`text` with exactly the values of `blocks` in these blocks; everything else of the file stays as it is.

    An empty text gives the blocks alone. Raises InvalidPolicy as reading does.
    """
    document = _load(text)
    for key in _BLOCKS:
        wanted = blocks.get(key)
        if isinstance(wanted, Mapping) and wanted:
            _fill(document, key, wanted)
        else:
            document.pop(key, None)
    return _dump(document)


def outer_keys(text: str) -> tuple[str, ...]:
    """The keys of the outermost mapping, in order. Raises InvalidPolicy as reading does."""
    return tuple(str(key) for key in _load(text))


def _load(text: str) -> CommentedMap:
    # Judges size, depth, aliases and shape, with lines; the tree below is then safe to build.
    read_config_yaml(text)
    try:
        document = _yaml().load(text)
    except YAMLError as error:
        raise not_yaml(error) from error
    return document if isinstance(document, CommentedMap) else CommentedMap()


def _yaml() -> YAML:
    yaml = YAML(typ="rt", pure=True)
    yaml.preserve_quotes = True
    # Reading has told of a key that is written twice; here nothing is judged.
    yaml.allow_duplicate_keys = True
    yaml.width = _WIDTH
    return yaml


def _dump(document: CommentedMap) -> str:
    if not document:
        return ""
    stream = io.StringIO()
    _yaml().dump(document, stream)
    return stream.getvalue()


def _fill(document: CommentedMap, key: str, wanted: Mapping[str, Any]) -> None:
    """Make `document[key]` a mapping with the values of `wanted`, keeping what is already right."""
    held = document.get(key)
    if not isinstance(held, CommentedMap):
        held = document[key] = CommentedMap()
    for name in [name for name in held if name not in wanted]:
        held.pop(name, None)
    for name, value in wanted.items():
        if isinstance(value, Mapping):
            _fill(held, name, value)
        elif name not in held or not _is_same(held[name], value):
            held[name] = value


def _is_same(held: object, wanted: object) -> bool:
    """Whether a stored value means what is wanted. Python takes true for 1; a settings file does not."""
    return isinstance(held, bool) == isinstance(wanted, bool) and held == wanted


def _drop_secrets(value: object) -> None:
    if isinstance(value, CommentedMap):
        for key in [key for key in value if key in SECRET_KEYS]:
            del value[key]
        for inner in value.values():
            _drop_secrets(inner)
    elif isinstance(value, list):
        for inner in value:
            _drop_secrets(inner)
