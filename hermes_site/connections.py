"""The connection to the database is given back once an answer is made, not once it is read.

Django keeps it until the last byte is out, so readers on slow lines could hold every connection there is while nobody
asks anything. What an answer still needs while it goes out takes a connection again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from sessions_app.main_model.releasing import release_connection

GetResponse = Callable[[HttpRequest], HttpResponseBase] | Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def release_when_answered(get_response: GetResponse) -> GetResponse:
    """Must stand in front of every other middleware that asks the database."""
    if not iscoroutinefunction(get_response):
        # Another server keeps one thread, and so one connection, for each of its readers anyway.
        return get_response

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = await get_response(request)
        await sync_to_async(release_connection)()
        return response

    return middleware
