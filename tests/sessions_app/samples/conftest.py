"""The samples, told once per run from this checkout's files."""

from functools import cache

import pytest

from compaction.tokens import TiktokenCounter
from sessions_app.samples.catalogue import sample_session
from sessions_app.samples.checkout import Checkout


@cache
def checkout():
    return Checkout()


@cache
def counter():
    return TiktokenCounter()


@cache
def told(name):
    return sample_session(name, checkout(), counter())


@pytest.fixture(name="checkout")
def checkout_fixture():
    return checkout()


@pytest.fixture(name="counter")
def counter_fixture():
    return counter()


@pytest.fixture
def tell():
    """The sample of a name."""
    return told
