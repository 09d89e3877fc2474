"""Addresses of the websockets."""

from typing import Any

from django.urls import path

from sessions_app.consumers import SessionConsumer

# Django's path() knows nothing of ASGI applications, so there is no narrower type for what it takes and returns here.
websocket_urlpatterns: list[Any] = [
    path("ws/s/<str:public_id>/", SessionConsumer.as_asgi()),  # type: ignore[arg-type]
]
