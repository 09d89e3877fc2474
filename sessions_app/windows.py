"""How large a model's context window is, as far as the price list that ships with the product knows."""

from __future__ import annotations

from functools import lru_cache

from genai_prices import data_snapshot

from compaction.threshold import Window, WindowSource


@lru_cache(maxsize=1_024)
def catalogue_window_tokens(model: str) -> int | None:
    """The window of `model` in tokens by the offline price list; None when it doesn't know the model or its window."""
    if not model:
        return None
    try:
        _provider, found = data_snapshot.get_snapshot().find_provider_model(model, None, None, None)
    except LookupError:
        return None
    return found.context_window


def resolve_window(set_tokens: int | None, model: str | None) -> Window:
    """The window to work with: what was set, else what the price list says, else unknown."""
    if set_tokens is not None:
        return Window(set_tokens, source=WindowSource.SETTING)
    listed = catalogue_window_tokens(model or "")
    return Window() if listed is None else Window(listed, source=WindowSource.PRICE_LIST)
