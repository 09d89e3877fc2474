"""The main model and its window, as a Hermes config.yaml names them in its `model:` block.

A window that is set there is the strongest source there is; without one the window stays unknown until somebody who may
look it up does so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compaction.main_model import CONTEXT_LENGTH, MAX_TOKENS
from compaction.settings import SettingProblem, Severity, read_setting, shown
from compaction.threshold import Window, WindowSource


@dataclass(frozen=True, slots=True)
class ModelReading:
    """The main model as configured: its name and provider (empty when not named) and its window, unknown if not set."""

    name: str = ""
    provider: str = ""
    window: Window = Window()
    problems: tuple[SettingProblem, ...] = ()


def read_model(mapping: Mapping[str, Any]) -> ModelReading:
    """The `model` block of a configuration: a name alone, or `default`, `provider`, `context_length`, `max_tokens`."""
    block = mapping.get("model")
    if block is None:
        return ModelReading()
    if isinstance(block, str):
        return ModelReading(block.strip())
    if not isinstance(block, Mapping):
        problem = SettingProblem("model", "expected a name, or keys with values below it", Severity.ERROR, shown(block))
        return ModelReading(problems=(problem,))
    context = read_setting(CONTEXT_LENGTH, block.get("context_length"), "model.context_length")
    output = read_setting(MAX_TOKENS, block.get("max_tokens"), "model.max_tokens")
    tokens = context.value if isinstance(context.value, int) else None
    source = WindowSource.UNKNOWN if tokens is None else WindowSource.SETTING
    window = Window(tokens, output.value if isinstance(output.value, int) else 0, source)
    name, provider = (str(block.get(key) or "").strip() for key in ("default", "provider"))
    return ModelReading(name, provider, window, (*context.problems, *output.problems))
