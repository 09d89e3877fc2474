"""Addresses of the websockets."""

from typing import Any

# Django's path() knows nothing of ASGI applications, so there is no narrower type for what it returns here.
websocket_urlpatterns: list[Any] = []
