"""Settings as YAML text: reading a Hermes config.yaml with everything that can go wrong in one, and writing the blocks.

The only module of the engine that needs a YAML library (ruamel.yaml), so policies can be built without one. The text
is parsed into nodes, never into objects: no tag can construct anything, aliases are followed within bounds, and only
the blocks that are asked for are looked at. Scalars that other YAML programs read differently get a note.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from compaction.errors import InvalidPolicy
from compaction.policy import CompactionPolicy
from compaction.policy_reading import AUXILIARY, COMPRESSION, PolicyReading, read_policy
from compaction.settings import SettingProblem, Severity, shown
from compaction.unused_settings import SECRET_KEYS
from compaction.wording import worded

MODEL: Final = "model"
_BLOCKS: Final = (COMPRESSION, AUXILIARY, MODEL)
_LARGEST_TEXT_CHARS: Final = 1_000_000
_MOST_VALUES: Final = 10_000
_DEEPEST: Final = 20
_FILE: Final = worded("settings file")
_TAG: Final = "tag:yaml.org,2002:"
_OLD_SWITCH: Final = re.compile(r"(?i:yes|no|on|off)")
_OLD_OCTAL: Final = re.compile(r"[-+]?0[0-7]{1,20}")
_DOTLESS_EXPONENT: Final = re.compile(r"[-+]?\d+[eE][-+]?\d+")


def read_policy_yaml(text: str | bytes) -> PolicyReading:
    """The policy of a YAML text with its problems, each with its line.

    Raises InvalidPolicy, with the line, when the text is not YAML, is not a mapping, or is built to exhaust memory.
    """
    mapping, document = _read(text)
    reading = read_policy({key: value for key, value in mapping.items() if key != MODEL})
    problems = tuple(replace(problem, line=document.line_of(problem.key)) for problem in reading.problems)
    said = {problem.key for problem in problems}
    notes = (found for found in document.problems if found.severity is not Severity.NOTE or found.key not in said)
    return replace(reading, problems=(*notes, *problems))


def read_config_yaml(text: str | bytes) -> Mapping[str, Any]:
    """The blocks `compression`, `auxiliary` and `model` of a YAML text as plain values; raises as above."""
    return _read(text)[0]


def write_policy_yaml(policy: CompactionPolicy | PolicyReading) -> str:
    """The two blocks as YAML, every setting written out. Reading it back gives an equal policy and no problems."""
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # declared without a type
    stream = io.StringIO()
    writer.dump(policy.to_mapping(), stream)
    return stream.getvalue()


def _read(text: str | bytes) -> tuple[Mapping[str, Any], _Document]:
    root = _compose(_decoded(text))
    document = _Document()
    if root is None:
        return {}, document
    if not isinstance(root, MappingNode):
        raise InvalidPolicy(worded("the file does not hold keys with values"), _place(root))
    return document.mapping(root, ""), document


def _decoded(text: str | bytes) -> str:
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidPolicy(worded("byte {} is not UTF-8 text", error.start), _FILE) from error
    if len(text) > _LARGEST_TEXT_CHARS:
        raise InvalidPolicy(worded("the text is longer than {:,} characters", _LARGEST_TEXT_CHARS), _FILE)
    return text.removeprefix("\ufeff")


def _compose(text: str) -> Node | None:
    try:
        node: Any = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = _FILE if mark is None else worded("line {}", mark.line + 1)
        raise InvalidPolicy(_explained(error.problem or ""), place) from error
    except YAMLError as error:
        raise not_yaml(error) from error
    except RecursionError as error:
        raise InvalidPolicy(worded("the values are nested too deeply"), _FILE) from error
    return node if isinstance(node, Node) else None


def not_yaml(error: YAMLError) -> InvalidPolicy:
    """What the YAML library found, as an error of ours."""
    return InvalidPolicy(worded("this is not YAML: {}", str(error).splitlines()[0]), _FILE)


def _explained(problem: str) -> str:
    if "\\t" in problem:
        return worded("a tab can't indent in YAML; use spaces")
    if "another document" in problem or problem == "but found another document":
        return worded("the file holds more than one document (a line with ---)")
    return worded("this is not YAML: {}", problem) if problem else worded("this is not YAML")


def _place(node: Node) -> str:
    return worded("line {}", node.start_mark.line + 1)


class _Document:
    """Turns nodes into plain values, and remembers the line of every key and what was odd about it."""

    def __init__(self) -> None:
        self.problems: list[SettingProblem] = []
        self._lines: dict[str, int] = {}
        self._values = 0

    def line_of(self, path: str) -> int | None:
        """The line of `path`, or of the nearest key above it."""
        while path and path not in self._lines:
            path = path.rpartition(".")[0]
        return self._lines.get(path)

    def mapping(self, node: MappingNode, path: str, depth: int = 0) -> dict[str, Any]:
        """The keys of `node` with their values; at the top only the blocks that are of interest."""
        values: dict[str, Any] = {}
        for key, value, is_merged in self._pairs(node, path, depth):
            if path == "" and key not in _BLOCKS:
                continue
            place = f"{path}.{key}" if path else key
            if not is_merged and place in self._lines and key in values:
                self._report_twice(place, value)
            if is_merged and key in values:
                continue
            self._lines[place] = value.start_mark.line + 1
            try:
                values[key] = self._value(value, place, depth + 1)
            except _NotAllowed as error:
                self._problem(place, error.said, Severity.ERROR, value)
        return values

    def _pairs(self, node: MappingNode, path: str, depth: int) -> Iterator[tuple[str, Node, bool]]:
        """Keys and values of `node`: its own first, then those of its merge keys (`<<`), which never win."""
        merged: list[MappingNode] = []
        for key, value in node.value:
            if key.tag == _TAG + "merge":
                parts = value.value if isinstance(value, SequenceNode) else [value]
                merged.extend(part for part in parts if isinstance(part, MappingNode))
            elif isinstance(key, ScalarNode):
                yield key.value, value, False
            else:
                self._problem(path, worded("a key must be a single word; this entry is left out"), Severity.ERROR, key)
        self._values += len(merged)
        self._check_bounds(node, depth)
        for part in merged:
            yield from ((key, value, True) for key, value, _ in self._pairs(part, path, depth + 1))

    def _value(self, node: Node, path: str, depth: int) -> Any:
        self._values += 1
        self._check_bounds(node, depth)
        if isinstance(node, MappingNode):
            return self.mapping(node, path, depth)
        if isinstance(node, SequenceNode):
            return [self._value(item, path, depth + 1) for item in node.value]
        return self._scalar(node, str(node.tag).removeprefix(_TAG), path)

    def _check_bounds(self, node: Node, depth: int) -> None:
        if depth > _DEEPEST:
            raise InvalidPolicy(worded("the values are nested too deeply"), _place(node))
        if self._values > _MOST_VALUES:
            raise InvalidPolicy(worded("more than {:,} values, aliases counted", _MOST_VALUES), _place(node))

    def _scalar(self, node: Node, kind: str, path: str) -> Any:
        written = str(node.value)
        if kind == "null":
            return None
        if kind == "bool":
            return written.lower() in ("true", "yes", "on")
        if kind in ("int", "float"):
            return self._number(node, path)
        if kind in ("str", "timestamp"):
            if getattr(node, "style", "") is None and _OLD_SWITCH.fullmatch(written):
                message = worded("some programs read a switch, some the word {}: write true or false", written)
                self._note(node, path, message)
            return written
        raise _NotAllowed(worded("the tag {} is not allowed here; this value is left out", kind))

    def _number(self, node: Node, path: str) -> int | float | str:
        """The number that was written; text that only looks like one stays text."""
        written = str(node.value)
        if _OLD_OCTAL.fullmatch(written):
            self._note(node, path, worded("read as {}; other programs read a leading 0 as octal", int(written)))
        elif _DOTLESS_EXPONENT.fullmatch(written):
            message = worded("read as {:g}; other programs read text, so write the number out", float(written))
            self._note(node, path, message)
        elif "_" in written:
            self._note(node, path, worded("read as {}; underscores are not YAML 1.2", written.replace("_", "")))
        return _as_number(written.replace("_", ""))

    def _report_twice(self, path: str, node: Node) -> None:
        message = worded("written twice, first in line {}; the last value counts", self._lines[path])
        self._lines[path] = node.start_mark.line + 1
        self._problem(path, message, Severity.ERROR, node)

    def _note(self, node: Node, path: str, message: str) -> None:
        self._problem(path, message, Severity.NOTE, node)

    def _problem(self, path: str, message: str, severity: Severity, node: Node) -> None:
        is_shown = isinstance(node, ScalarNode) and path.rpartition(".")[2] not in SECRET_KEYS
        given = shown(node.value) if is_shown else ""
        self.problems.append(SettingProblem(path, message, severity, given, line=node.start_mark.line + 1))


class _NotAllowed(InvalidPolicy):
    """A value that is never taken from a file."""


def _as_number(written: str) -> int | float | str:
    lowered = written.lower()
    if lowered.lstrip("+-") in (".inf", ".nan"):
        return math.nan if "nan" in lowered else math.inf * (-1 if lowered.startswith("-") else 1)
    try:
        return int(written, 0) if re.match(r"[-+]?0[xob]", lowered) else int(written)
    except ValueError:
        pass
    try:
        return float(written)
    except ValueError:
        return written
