"""Reading policies: from the mapping of a settings file, from layers of such mappings, from a command line.

There is one order of precedence, and it has no other sources: the default, then each layer in turn (a project's
settings, a session's own), then assignments of a command line. The environment sets no policy. Every value names the
layer it came from, and every key that was written gets at most one problem per value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlsplit

from compaction.errors import InvalidPolicy
from compaction.policy import AUXILIARY_SETTINGS, COMPRESSION_SETTINGS, CompactionPolicy
from compaction.settings import ReadValue, Setting, SettingProblem, SettingValue, Severity, read_setting, shown
from compaction.unused_settings import SECRET_KEYS, UNUSED_AUXILIARY_KEYS, UNUSED_COMPRESSION_SETTINGS
from compaction.wording import worded

COMPRESSION: Final = "compression"
AUXILIARY: Final = "auxiliary"
AUXILIARY_COMPRESSION: Final = "auxiliary.compression"
_PROJECT: Final = "project"

_COMPRESSION_BY_KEY: Final = {setting.key: (name, setting) for name, setting in COMPRESSION_SETTINGS}
_AUXILIARY_BY_KEY: Final = {setting.key: (name, setting) for name, setting in AUXILIARY_SETTINGS}
_UNUSED_BY_KEY: Final = {setting.key: setting for setting in UNUSED_COMPRESSION_SETTINGS}
_UNUSED_AUXILIARY_BY_KEY: Final = dict(UNUSED_AUXILIARY_KEYS)


@dataclass(frozen=True, slots=True)
class PolicyReading:
    """A policy with everything there is to say about where it came from.

    sources: (key, layer) of every key that a layer set to the value in use; all other values are defaults.
    unused: keys that are accepted and not acted on, with the value they were read as.
    kept: (path, JSON) of keys that are unused or unknown, for writing the file back without losing them.
    """

    policy: CompactionPolicy
    problems: tuple[SettingProblem, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    unused: tuple[tuple[str, SettingValue], ...] = ()
    kept: tuple[tuple[str, str], ...] = ()

    @property
    def errors(self) -> tuple[SettingProblem, ...]:
        """Problems for which a default had to be used."""
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    def source_of(self, key: str) -> str:
        """The layer that set `key` (`compression.threshold` for one), or "default"."""
        return dict(self.sources).get(key, "default")

    def to_mapping(self) -> dict[str, Any]:
        """The policy's two blocks with the kept keys put back in their places."""
        mapping = self.policy.to_mapping()
        for path, value in self.kept:
            _put_back(mapping, path, json.loads(value))
        return mapping


def read_policy(mapping: Mapping[str, Any]) -> PolicyReading:
    """The policy of one configuration; see `CompactionPolicy.from_mapping`."""
    return read_layers(((_PROJECT, mapping),))


def read_layers(layers: Iterable[tuple[str, Mapping[str, Any]]]) -> PolicyReading:
    """The policy of several configurations, each with its name, the strongest last."""
    reader = _Reader(CompactionPolicy())
    for layer, mapping in layers:
        reader.read(layer, mapping)
    return reader.result()


def read_assignments(policy: CompactionPolicy, assignments: Iterable[str]) -> PolicyReading:
    """`policy` with `key=value` assignments; see `CompactionPolicy.with_settings`."""
    reader = _Reader(policy)
    for assignment in assignments:
        path, equals, value = assignment.partition("=")
        if not equals:
            raise InvalidPolicy("expected key=value", assignment)
        reader.read("command line", _nested(path.strip(), value.strip()))
    refused = [problem for problem in reader.problems if problem.severity is not Severity.CLAMPED]
    if refused:
        raise InvalidPolicy("; ".join(problem.refusal for problem in refused))
    return reader.result()


def _nested(path: str, value: str) -> dict[str, Any]:
    """The mapping in which `path` has `value`. Model names may contain dots, so only known prefixes are taken apart."""
    if path.startswith(AUXILIARY_COMPRESSION + "."):
        return {AUXILIARY: {COMPRESSION: {path.removeprefix(AUXILIARY_COMPRESSION + "."): value}}}
    key = path.removeprefix(COMPRESSION + ".")
    if key.startswith("model_thresholds."):
        return {COMPRESSION: {"model_thresholds": {key.removeprefix("model_thresholds."): _ratio(value)}}}
    return {COMPRESSION: {key: _null_or(value)}}


def _ratio(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def _null_or(value: str) -> str | None:
    return None if value.lower() in ("", "null", "none") else value


class _Reader:
    """Collects values, problems and sources while layers are read, the strongest last."""

    def __init__(self, policy: CompactionPolicy) -> None:
        self._policy = policy
        self.problems: list[SettingProblem] = []
        self._sources: dict[str, str] = {}
        self._unused: dict[str, SettingValue] = {}
        self._kept: dict[str, str] = {}

    def read(self, layer: str, mapping: Mapping[str, Any]) -> None:
        """Take the values of one layer."""
        if not isinstance(mapping, Mapping):
            self._problem("", worded("the configuration is not a mapping of keys to values"), Severity.ERROR, mapping)
            return
        self._read_compression(layer, self._block(mapping, COMPRESSION))
        self._read_auxiliary(layer, self._block(mapping, AUXILIARY))

    def result(self) -> PolicyReading:
        """What was read, with what only shows when all layers are known."""
        self._report_inert_switch()
        parts = (tuple(self.problems), tuple(self._sources.items()), tuple(self._unused.items()))
        return PolicyReading(self._policy, *parts, tuple(self._kept.items()))

    def _block(self, mapping: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        block = mapping.get(path.rpartition(".")[2])
        if isinstance(block, Mapping):
            return block
        if block is not None:
            cause = worded("expected keys with values below it")
            self._problem(path, worded("{}; the block is left out", cause), Severity.ERROR, block, cause=cause)
        return {}

    def _read_compression(self, layer: str, block: Mapping[str, Any]) -> None:
        for key, given in block.items():
            path = f"{COMPRESSION}.{key}"
            if key in _COMPRESSION_BY_KEY:
                name, setting = _COMPRESSION_BY_KEY[key]
                read = self._take(layer, path, replace(setting, default=getattr(self._policy, name)), given)
                changes: dict[str, Any] = {name: self._merged(name, read.value)}
                self._policy = replace(self._policy, **changes)
            elif key in _UNUSED_BY_KEY:
                self._read_unused(path, _UNUSED_BY_KEY[key], given)
            else:
                self._keep_unknown(path, given)

    def _merged(self, name: str, value: SettingValue) -> SettingValue:
        """Ratios of several layers are merged by model; every other value replaces the one before."""
        if name != "model_thresholds" or not isinstance(value, tuple):
            return value
        return tuple({**dict(self._policy.model_thresholds), **dict(value)}.items())

    def _read_unused(self, path: str, setting: Setting, given: object) -> None:
        read = read_setting(setting, given, path)
        self.problems.extend(problem for problem in read.problems if problem.severity is Severity.ERROR)
        self._unused[path] = read.value
        if not any(problem.severity is Severity.ERROR for problem in read.problems):
            message = worded("not used here: {}", setting.meaning)
            self._problem(path, message, Severity.NOT_USED, given, read.value)
        self._kept[path] = _json(given)

    def _read_auxiliary(self, layer: str, block: Mapping[str, Any]) -> None:
        for task, given in block.items():
            if task != COMPRESSION:
                message = worded("not used here: only the summarizer (auxiliary.compression) is set up by this product")
                self._keep(f"{AUXILIARY}.{task}", without_secrets(given), message, Severity.NOT_USED)
        for key, given in self._block(block, AUXILIARY_COMPRESSION).items():
            self._read_auxiliary_key(layer, str(key), given)

    def _read_auxiliary_key(self, layer: str, key: str, given: object) -> None:
        path = f"{AUXILIARY_COMPRESSION}.{key}"
        if key in SECRET_KEYS:
            self._problem(path, _UNUSED_AUXILIARY_BY_KEY[key], Severity.NOT_USED, "[hidden]")
        elif key in _UNUSED_AUXILIARY_BY_KEY:
            self._keep(path, given, worded("not used here: {}", _UNUSED_AUXILIARY_BY_KEY[key]), Severity.NOT_USED)
        elif key in _AUXILIARY_BY_KEY:
            name, setting = _AUXILIARY_BY_KEY[key]
            given = "" if given is None and setting.default == "" else given
            read = self._take(layer, path, replace(setting, default=getattr(self._policy.auxiliary, name)), given)
            changes: dict[str, Any] = {name: read.value}
            self._policy = replace(self._policy, auxiliary=replace(self._policy.auxiliary, **changes))
        else:
            self._keep_unknown(path, given)

    def _take(self, layer: str, path: str, setting: Setting, given: object) -> ReadValue:
        refusal = _address_refusal(given) if setting.key == "base_url" else ""
        if refusal:
            message = worded("{}; the provider's own is used", refusal)
            self._problem(path, message, Severity.ERROR, "[hidden]", cause=refusal)
            return ReadValue(setting.default)
        read = read_setting(setting, given, path)
        self.problems.extend(read.problems)
        if any(problem.key == path and problem.severity is Severity.ERROR for problem in read.problems):
            return read
        self._sources[path] = layer
        return read

    def _report_inert_switch(self) -> None:
        if self._policy.micro_compact and not self._policy.enabled:
            message = worded("compression.enabled is off, so micro passes do not run either")
            self._problem(f"{COMPRESSION}.micro_compact", message, Severity.NOT_USED, True, False)

    def _keep_unknown(self, path: str, given: object) -> None:
        cause = worded("this key is not known")
        message = worded("{}; it is kept and changes nothing", cause)
        self._problem(path, message, Severity.UNKNOWN, given, cause=cause)
        self._kept[path] = _json(given)

    def _keep(self, path: str, given: object, message: str, severity: Severity) -> None:
        self._problem(path, message, severity, given)
        self._kept[path] = _json(given)

    def _problem(
        self,
        path: str,
        message: str,
        severity: Severity,
        given: object,
        effective: SettingValue | str = "",
        cause: str = "",
    ) -> None:
        self.problems.append(SettingProblem(path, message, severity, shown(given), shown(effective), cause=cause))


def _address_refusal(given: object) -> str:
    """Why an endpoint's address can't be used; empty when it can. It may carry a password, so it is never shown."""
    if not isinstance(given, str) or not given.strip():
        return ""
    try:
        parts = urlsplit(given.strip())
        has_credentials = parts.username is not None or parts.password is not None
    except ValueError:
        return worded("this is not an address")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return worded("an address starts with http:// or https://")
    return worded("an address must not contain a user name or password") if has_credentials else ""


def without_secrets(given: Any) -> Any:
    """A value of a configuration without the keys that hold secrets, wherever they stand."""
    if isinstance(given, Mapping):
        return {key: without_secrets(value) for key, value in given.items() if key not in SECRET_KEYS}
    return [without_secrets(value) for value in given] if isinstance(given, list) else given


def _json(value: object) -> str:
    return json.dumps(value, default=str, ensure_ascii=False, skipkeys=True)


def _put_back(mapping: dict[str, Any], path: str, value: object) -> None:
    """Set `path` in the two blocks. What follows the block's name is one key, dots included."""
    block, _, key = path.partition(".")
    if path.startswith(AUXILIARY_COMPRESSION + "."):
        mapping[AUXILIARY][COMPRESSION][path.removeprefix(AUXILIARY_COMPRESSION + ".")] = value
    else:
        mapping[block][key] = value
