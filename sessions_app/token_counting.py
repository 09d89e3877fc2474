"""The counter with which this installation counts the rows it stores."""

from __future__ import annotations

import logging
from functools import lru_cache

from compaction.tokens import RoughCounter, TiktokenCounter, TokenCounter
from compaction.vocabulary import VocabularyMissing

logger = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def site_counter() -> TokenCounter:
    """The exact counter, or the estimate where its vocabulary is not installed; rows say which one counted them."""
    try:
        return TiktokenCounter()
    except VocabularyMissing as error:
        logger.warning("tokens are estimated: %s", error)
        return RoughCounter()
