"""Recorded cases: finding them, expanding their compact spelling, and comparing them key by key.

A case is compared only by the keys it expects. Nested values are flattened to dotted keys, so a deviation can name
exactly what differs and everything around it still has to agree.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compaction import markers
from compaction.prune import DUPLICATE
from compaction.prune_lines import skill_mark

OWN_FOLDER = Path(__file__).parents[2] / "data" / "reference"
MISSING = "<not computed>"
LONGEST_SENTENCE = 200

# Stand-ins in the cases for fixed sentences, with this engine's own. Sentences it has none for keep their stand-in.
SENTENCES = {
    "SUMMARY_PREFIX": markers.PREAMBLE,
    "END_MARKER": markers.END_MARK,
    "LEGACY": "[CONTEXT SUMMARY]:",
    "DUP_PLACEHOLDER": DUPLICATE,
}
_SKILL = re.compile(r"\{\{SKILL_PRUNED name=([^}]*)\}\}")


@dataclass(frozen=True)
class Case:
    """One recorded case of one file."""

    file: str
    id: str
    what: str
    config: Mapping[str, Any]
    input: Mapping[str, Any]
    expected: Mapping[str, Any]

    @property
    def area(self) -> str:
        return str(self.config.get("area", ""))


@dataclass(frozen=True)
class Difference:
    """A key of a case for which the engine gives another value."""

    key: str
    expected: Any
    got: Any


def vectors_folder() -> Path:
    """The folder with the files: the one that is named in the environment, or the project's own."""
    named = Path(os.environ.get("REFERENCE_VECTORS") or OWN_FOLDER)
    return named / "vectors" if (named / "vectors").is_dir() else named


def load_cases(folder: Path, file: str) -> list[Case]:
    """The cases of one file; none when the file is absent."""
    path = folder / f"{file}.json"
    if not path.exists():
        return []
    return [
        Case(file, raw["id"], raw["what"], raw["config"], expand(raw["input"]), expand(raw["expected"]))
        for raw in json.loads(path.read_text(encoding="utf-8"))
    ]


def expand(value: Any) -> Any:
    """A value with its compact spellings written out."""
    if isinstance(value, dict):
        if set(value) == {"$rep"}:
            part = value["$rep"]
            return part["prefix"] + part["unit"] * part["n"] + part["suffix"]
        if set(value) == {"$lines"}:
            part = value["$lines"]
            return part["prefix"] + "\n".join(part["fmt"] % n for n in range(part["n"])) + part["suffix"]
        return {key: expand(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [expand(inner) for inner in value]
    if isinstance(value, str) and "{{" in value:
        for name, sentence in SENTENCES.items():
            value = value.replace("{{" + name + "}}", sentence)
        value = _SKILL.sub(lambda found: skill_mark(found[1]), value)
    return value


def differences(expected: Any, got: Any) -> list[Difference]:
    """Every expected key whose value is another one, in order."""
    return list(_differences("", expected, got))


def _differences(key: str, expected: Any, got: Any) -> Iterator[Difference]:
    if isinstance(expected, dict) and set(expected) == {"$text"}:
        if not _is_text(expected["$text"], got):
            yield Difference(key, expected, got)
    elif isinstance(expected, dict) and isinstance(got, Mapping):
        for name, inner in expected.items():
            yield from _differences(f"{key}.{name}".lstrip("."), inner, got.get(name, MISSING))
    elif _holds_mappings(expected) and isinstance(got, list) and len(got) == len(expected):
        for index, (inner, found) in enumerate(zip(expected, got, strict=True)):
            yield from _differences(f"{key}.{index}".lstrip("."), inner, found)
    elif type(expected) is not type(got) and not _are_numbers(expected, got) or expected != got:
        yield Difference(key, expected, got)


def _holds_mappings(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(inner, dict) for inner in value)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _is_text(recorded: Mapping[str, Any], got: Any) -> bool:
    """Whether `got` is the long text that was recorded by length, hash and both ends.

    Length and hash of a text with fixed sentences in it depend on their words; then both ends have to do.
    """
    if not isinstance(got, str):
        return False
    digest = hashlib.sha256(got.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    if len(got) == recorded["len"]:
        return bool(digest == recorded["sha256_16"])
    has_ends = got.startswith(recorded["head"]) and got.endswith(recorded["tail"])
    return has_ends and abs(len(got) - recorded["len"]) <= LONGEST_SENTENCE
