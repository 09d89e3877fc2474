"""The counter with which this installation counts the rows it stores."""

from __future__ import annotations

import logging
from functools import lru_cache

from compaction.tokens import RoughCounter, TiktokenCounter, TokenCounter
from compaction.vocabulary import VOCABULARY, VocabularyMissing, is_vocabulary_installed

logger = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def site_counter() -> TokenCounter:
    """The exact counter, or the estimate where its vocabulary is not installed; rows say which one counted them."""
    try:
        return TiktokenCounter()
    except VocabularyMissing as error:
        logger.warning("tokens are estimated: %s", error)
        return RoughCounter()


@lru_cache(maxsize=1)
def exact_counter_name() -> str | None:
    """The name of the exact counter, without the seconds it takes to load; None where tokens are estimated."""
    return VOCABULARY if is_vocabulary_installed() else None
