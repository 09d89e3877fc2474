"""Storing an answer that has come: tried again while the database is away for a moment.

An answer took minutes and money and can't be asked for again. Storing it twice must be harmless: the database may have
stored it and gone away before it could say so.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, TypeVar

from django.db import InterfaceError, OperationalError, connection

from sessions_app.main_model.releasing import release_connection

# A restart of the database takes a few seconds.
WAITS_SECONDS: Final = (0.2, 0.4, 0.8, 1.6, 3.2)
Stored = TypeVar("Stored")

logger = logging.getLogger(__name__)


def store_patiently(store: Callable[[], Stored]) -> Stored:
    """What `store` returns; asked again when the database could not be reached. Raises what the last try raises."""
    for wait_seconds in WAITS_SECONDS:
        try:
            return store()
        except (OperationalError, InterfaceError) as error:
            if connection.in_atomic_block:
                raise
            logger.warning("an answer was not stored yet (%s)", type(error).__name__)
            release_connection()
            time.sleep(wait_seconds)
    return store()
