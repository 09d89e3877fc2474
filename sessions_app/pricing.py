"""What a call to a model cost, by the price list that ships with the product.

Must not contact anybody. Only an address whose provider is in the list has a price there: the same model on somebody's
own machine costs something else, and that is unknown.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import genai_prices

from compaction.summarizer import Usage


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
    return price.total_price
