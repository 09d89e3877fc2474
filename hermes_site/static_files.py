"""Serves the static files: whitenoise's knowledge of headers, with a body that suits an ASGI server.

Whitenoise hands files on as synchronous streams, which Django would read ahead in a thread, with a warning for each.
Ours are a few kilobytes; they are read at once.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]  # it has no types


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]  # so its class counts as Any
    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        """The answer for one file: whole, a range of it, or only that it has not changed."""
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file:
                body = found.file.read()
        response = HttpResponse(body, status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        return response
