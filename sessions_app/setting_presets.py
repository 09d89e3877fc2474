"""Presets: four ways to begin, each a handful of values and what it gives up. They fill the form and save nothing."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from sessions_app.policy_changes import ABSENT, put


@dataclass(frozen=True, slots=True)
class Preset:
    """values: (path, value), ABSENT where the value of the weaker scope is wanted."""

    name: str
    title: Promise
    trade: Promise
    values: tuple[tuple[str, Any], ...]

    def on_top_of(self, blocks: Mapping[str, Any]) -> dict[str, Any]:
        """`blocks` with the preset's values; everything it says nothing about stays."""
        filled = deepcopy(dict(blocks))
        for path, value in self.values:
            put(filled, path, value)
        return {block: held for block, held in filled.items() if held != {}}


PRESETS: Final = (
    Preset(
        "off",
        _("Off: batch only"),
        _(
            "No pass after turns and no prune. Nothing is re-billed in between; when the threshold is reached, one long"
            " stall compacts the whole middle at once."
        ),
        (
            ("compression.enabled", ABSENT),
            ("compression.micro_compact", False),
            ("compression.proactive_prune_tokens", ABSENT),
        ),
    ),
    Preset(
        "gentle",
        _("Gentle: every fifth turn"),
        _(
            "A micro pass every five turns that takes up to five exchanges. A fifth of the cache breaks of every turn,"
            " for the same reclaim; in between, a backlog of up to five exchanges stays in the context."
        ),
        (
            ("compression.enabled", ABSENT),
            ("compression.micro_compact", True),
            ("compression.micro_compact_every_n_turns", 5),
            ("compression.micro_compact_max_exchanges", 5),
            ("compression.micro_compact_min_reclaim_tokens", ABSENT),
            ("compression.micro_compact_when", ABSENT),
        ),
    ),
    Preset(
        "cheap-cache",
        _("Long sessions with cheap cache"),
        _(
            "Where cached input costs a tenth or less, breaking the cache is what is dear. Passes wait until 8,000"
            " tokens would be given back and then take all of it in one call: few breaks, each worth it. Occupancy"
            " falls in steps, and a single pass takes longer."
        ),
        (
            ("compression.enabled", ABSENT),
            ("compression.micro_compact", True),
            ("compression.micro_compact_every_n_turns", ABSENT),
            ("compression.micro_compact_max_exchanges", ABSENT),
            ("compression.micro_compact_min_reclaim_tokens", 8_000),
            ("compression.micro_compact_when", ABSENT),
        ),
    ),
    Preset(
        "local",
        _("Local model"),
        _(
            "On your own machine a token costs time, not money. One exchange after every turn keeps the context short"
            " and each pass small, with time enough for a slow model. Early details turn second-hand soonest, and each"
            " pass makes the model read what stands behind it again."
        ),
        (
            ("compression.enabled", ABSENT),
            ("compression.micro_compact", True),
            ("compression.micro_compact_every_n_turns", ABSENT),
            ("compression.micro_compact_max_exchanges", ABSENT),
            ("compression.micro_compact_min_reclaim_tokens", ABSENT),
            ("compression.micro_compact_when", ABSENT),
            ("compression.finalize_wait_seconds", 120),
            ("auxiliary.compression.timeout", 300),
        ),
    ),
)


def preset_named(name: str) -> Preset | None:
    """The preset of this name."""
    return next((preset for preset in PRESETS if preset.name == name), None)
