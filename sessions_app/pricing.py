"""What a call to a model cost, by the price list that ships with the product.

Must not contact anybody. Only an address whose provider is in the list has a price there: the same model on somebody's
own machine costs something else, and that is unknown.
"""

from __future__ import annotations

import logging
from datetime import datetime
from decimal import Decimal
from functools import lru_cache

import genai_prices

from compaction.economics import SummarizerPrices
from compaction.summarizer import Usage

logger = logging.getLogger(__name__)


def cost_usd(model: str | None, endpoint: str, usage: Usage, at: datetime) -> Decimal | None:
    """Dollars for one call; None when the provider, the model or the usage is not known.

    endpoint: the address that was asked. A cache the endpoint says nothing about is taken as not used.
    """
    if not model or not endpoint or usage.input_tokens is None or usage.output_tokens is None:
        return None
    used = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens,
    )
    try:
        price = genai_prices.calc_price(used, model, provider_api_url=endpoint, genai_request_timestamp=at)
    except (LookupError, ValueError):
        # ValueError: the endpoint reported figures that contradict each other.
        return None
    except Exception as error:
        # Whatever the list makes of odd figures, the answer that they came with is not lost to it.
        logger.error("a call could not be priced (%s)", type(error).__name__, exc_info=error)
        return None
    return price.total_price


def base_price_usd(model: str | None) -> float | None:
    """Dollars for a million tokens of uncached input, by the list price of the model's own provider; None unknown."""
    found = _list_prices(model)
    return None if found is None else found[0]


def summarizer_prices(main_model: str | None, aux_model: str | None, cached_price: float) -> SummarizerPrices | None:
    """What a summarizer's tokens cost against the main model's input; None when one of the two is not in the list.

    cached_price: what a cached token of the main model costs against its input, for a summarizer that is that model.
    """
    main, aux = _list_prices(main_model), _list_prices(aux_model)
    if main is None or aux is None or not main[0]:
        return None
    return SummarizerPrices(aux[0] / main[0], aux[1] / main[0], cached_price if aux_model == main_model else None)


@lru_cache(maxsize=200)
def _list_prices(model: str | None) -> tuple[float, float] | None:
    """Dollars for a million tokens of input and of output, at the price of a small request."""
    if not model:
        return None
    used = genai_prices.Usage(input_tokens=1_000, output_tokens=1_000)
    try:
        price = genai_prices.calc_price(used, model)
    except (LookupError, ValueError):
        return None
    return float(price.input_price) * 1_000, float(price.output_price) * 1_000
