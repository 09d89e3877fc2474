"""The main model of a project: the model that its sessions talk to, as the `model` block of a configuration names it.

The block has the shape of `auxiliary.compression`, with the name of the model under `default`, as configurations write
it. A model can be named without being reachable: then its window and prices are known and nobody is asked. Nothing is
contacted here and no key is read: the key is named, as an environment variable or as one that the project stores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from compaction.endpoints.endpoint import Endpoint, endpoint_of
from compaction.errors import InvalidPolicy
from compaction.policy import AuxiliaryModel
from compaction.settings import Setting, SettingKind, SettingProblem, Severity, read_setting, shown
from compaction.threshold import Window, WindowSource
from compaction.unused_settings import SECRET_KEYS

MODEL: Final = "model"
CONTEXT_LENGTH: Final = Setting(
    "context_length",
    SettingKind.WHOLE,
    None,
    "Context window of the main model.",
    "A value set here wins over every catalogue.",
    label="Window",
    unit="tokens",
    lowest=1,
    highest=100_000_000,
    is_optional=True,
    low_is_unset=True,
)
MAX_TOKENS: Final = Setting(
    "max_tokens",
    SettingKind.WHOLE,
    0,
    "Part of the window that is kept for the answer.",
    "Nothing is kept unless you say how long answers may get.",
    label="Longest answer",
    unit="tokens",
    lowest=0,
    highest=100_000_000,
    is_optional=True,
)
# By the name of the field of `MainModel`.
MAIN_MODEL_SETTINGS: Final = (
    (
        "model",
        Setting("default", SettingKind.TEXT, "", "Model that sessions talk to.", label="Model"),
    ),
    (
        "provider",
        Setting(
            "provider",
            SettingKind.TEXT,
            "",
            "A known provider, or a name of your own beside an address; empty asks nobody.",
            "Nothing is contacted unless a provider or an address was set.",
            label="Provider",
        ),
    ),
    (
        "base_url",
        Setting(
            "base_url",
            SettingKind.TEXT,
            "",
            "Address of an OpenAI-compatible endpoint or of Anthropic's; empty takes the provider's.",
            label="Endpoint address",
        ),
    ),
    (
        "key_env",
        Setting(
            "key_env",
            SettingKind.TEXT,
            "",
            "Name of the environment variable that holds the endpoint's key.",
            "Keys are never stored with settings.",
            label="Key variable",
        ),
    ),
    (
        "key_secret",
        Setting(
            "api_key_secret",
            SettingKind.TEXT,
            "",
            "Name of a key that the project stores, instead of an environment variable.",
            "The value lies encrypted beside the settings, never in them, and goes to one address only.",
            label="Stored key",
        ),
    ),
    ("window_tokens", CONTEXT_LENGTH),
    ("max_output_tokens", MAX_TOKENS),
    (
        "timeout_seconds",
        Setting(
            "timeout",
            SettingKind.WHOLE,
            600,
            "How long one answer may take in all.",
            "Long answers of slow models take minutes; a hung call must not hold a session for ever.",
            label="Time limit",
            unit="seconds",
            lowest=1,
            highest=7_200,
        ),
    ),
    (
        "silence_seconds",
        Setting(
            "read_timeout",
            SettingKind.WHOLE,
            300,
            "How long an answer that comes piece by piece may be silent.",
            "Models that think say nothing for minutes; longer than this the line is most likely dead.",
            label="Longest silence",
            unit="seconds",
            lowest=1,
            highest=7_200,
        ),
    ),
)
_BY_KEY: Final = {setting.key: (name, setting) for name, setting in MAIN_MODEL_SETTINGS}
# Other spellings that configurations use for the same thing.
_SPELLINGS: Final = {"name": "default", "model": "default", "api_key_env": "key_env"}
# Names for "whatever is at the address", which without an address is nobody.
_NOBODY: Final = frozenset({"", "auto", "custom", "openai-compatible"})


@dataclass(frozen=True, slots=True)
class MainModel:
    """The main model as set. model: empty when the endpoint chooses, or when nothing is set.

    window_tokens: None when nobody said. max_output_tokens: kept for the answer, 0 for none.
    """

    model: str = ""
    provider: str = ""
    base_url: str = ""
    key_env: str = ""
    window_tokens: int | None = None
    max_output_tokens: int = 0
    timeout_seconds: int = 600
    silence_seconds: int = 300
    key_secret: str = ""

    @property
    def is_reachable(self) -> bool:
        """Whether the settings say where to ask: a provider or an address. Naming a model alone does not."""
        return bool(self.base_url) or self.provider.strip().lower() not in _NOBODY

    @property
    def window(self) -> Window:
        """The window as set: the strongest source there is. Unknown without one, until somebody who may looks it up."""
        source = WindowSource.UNKNOWN if self.window_tokens is None else WindowSource.SETTING
        return Window(self.window_tokens, self.max_output_tokens, source)

    def endpoint(self) -> Endpoint:
        """Where it is asked. Raises InvalidPolicy naming the setting that is missing or wrong."""
        return endpoint_of(
            AuxiliaryModel(
                provider=self.provider or "auto",
                model=self.model,
                base_url=self.base_url,
                timeout_seconds=self.timeout_seconds,
                window_tokens=self.window_tokens,
                key_env=self.key_env,
                key_secret=self.key_secret,
            ),
            MODEL,
            "default",
        )

    def to_mapping(self) -> dict[str, Any]:
        """The `model` block; `read_main_model` reads it back to an equal value."""
        return {setting.key: getattr(self, name) for name, setting in MAIN_MODEL_SETTINGS}


@dataclass(frozen=True, slots=True)
class MainModelReading:
    """A main model with everything there is to say about how it was written."""

    model: MainModel = MainModel()
    problems: tuple[SettingProblem, ...] = ()

    @property
    def errors(self) -> tuple[SettingProblem, ...]:
        """Problems for which a default had to be used."""
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)


def read_main_model(block: object) -> MainModelReading:
    """The `model` block: a name alone, or keys with values. Never raises for what stands in it."""
    if block is None:
        return MainModelReading()
    if isinstance(block, str):
        return MainModelReading(MainModel(model=block.strip()))
    if not isinstance(block, Mapping):
        problem = SettingProblem(MODEL, "expected a name, or keys with values below it", Severity.ERROR, shown(block))
        return MainModelReading(problems=(problem,))
    values: dict[str, Any] = {}
    problems: list[SettingProblem] = []
    for key, given in block.items():
        _read_key(str(key), given, values, problems)
    return _with_endpoint_problem(MainModel(**values), problems)


def canonical_block(block: object) -> object:
    """The `model` block with every key under its usual name, and a name alone as a block. What is neither stays as it
    is, and so does a key whose usual name stands beside it."""
    if isinstance(block, str):
        return {"default": block.strip()} if block.strip() else {}
    if not isinstance(block, Mapping):
        return {} if block is None else block
    return {_usual_name(str(key), block): value for key, value in block.items()}


def _usual_name(key: str, block: Mapping[str, Any]) -> str:
    usual = _SPELLINGS.get(key, key)
    return key if usual in block else usual


def _read_key(key: str, given: object, values: dict[str, Any], problems: list[SettingProblem]) -> None:
    path = f"{MODEL}.{key}"
    if key in SECRET_KEYS:
        message = "keys are never read from settings: name the environment variable that holds it in key_env"
        problems.append(SettingProblem(path, message, Severity.NOT_USED, "[hidden]"))
        return
    known = _BY_KEY.get(_SPELLINGS.get(key, key))
    if known is None:
        cause = "this key is not known"
        message = f"{cause}; it changes nothing"
        problems.append(SettingProblem(path, message, Severity.UNKNOWN, shown(given), cause=cause))
        return
    name, setting = known
    is_blank_text = given is None and setting.kind is SettingKind.TEXT
    read = read_setting(setting, "" if is_blank_text else given, path)
    problems.extend(replace(problem, given="[hidden]") if key == "base_url" else problem for problem in read.problems)
    values[name] = 0 if read.value is None and name == "max_output_tokens" else read.value


def _with_endpoint_problem(model: MainModel, problems: list[SettingProblem]) -> MainModelReading:
    """Settings that name a place but no complete one are told with the key that is missing or wrong."""
    if model.is_reachable:
        try:
            model.endpoint()
        except InvalidPolicy as error:
            cause = str(error).removeprefix(f"{error.where}: ")
            problems.append(SettingProblem(error.where, cause, Severity.ERROR, "", cause=cause))
    return MainModelReading(model, tuple(problems))
