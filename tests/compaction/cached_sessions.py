"""Sessions as a prompt cache sees them, built by hand or generated, and the price tables tests use."""

from dataclasses import replace

from hypothesis import strategies as st

from compaction.cache_prices import shipped_price_table
from compaction.prompt_cache import SentMessage, SentRequest, bill_requests

TABLE = shipped_price_table()
ANTHROPIC = TABLE.named("anthropic-5m")
OPENAI = TABLE.named("openai-gpt5")
NO_CACHE = TABLE.named("no-cache")
FINE = replace(ANTHROPIC, min_tokens=1)
KEPT = replace(FINE, ttl_refreshes_on_use=False)

ALL_PRICES = st.sampled_from([*TABLE.providers, FINE, KEPT])
MESSAGES = st.lists(st.builds(SentMessage, st.integers(0, 6), st.integers(0, 3_000)), max_size=12)
TIMES = st.one_of(st.none(), st.integers(0, 5_000).map(float))
REQUESTS = st.lists(st.builds(SentRequest, MESSAGES.map(tuple), TIMES), max_size=10)
TIMED = st.lists(st.builds(SentRequest, MESSAGES.map(tuple), st.just(0.0)), max_size=10)


def growing(sizes, gap_seconds=10.0):
    """Requests of a session that is only appended to."""
    messages = [SentMessage(n, tokens) for n, tokens in enumerate(sizes)]
    return [SentRequest(tuple(messages[: n + 1]), n * gap_seconds) for n in range(len(messages))]


def bills(requests, prices=ANTHROPIC):
    return list(bill_requests(requests, prices))
