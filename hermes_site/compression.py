"""Compresses what goes over the wire: pages, data and static files, where the browser takes gzip.

Answers that come bit by bit are left alone, or their pieces would wait until there are enough of them. What a page
holds can't be guessed from its compressed size: Django adds a random length to each.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware, re_accepts_gzip
from django.utils.cache import patch_vary_headers

LEAST_BYTES: Final = 1_000
STATIC_LEVEL: Final = 9
_TEXTS: Final = ("text/", "application/json", "application/javascript", "image/svg+xml", "application/xml")
# Compressed static files by their path and the tag of their content. There are a few dozen.
_static: dict[tuple[str, str], bytes] = {}


class CompressionMiddleware(GZipMiddleware):
    """Compresses whole answers that are texts."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """The answer, compressed if that helps and is wanted."""
        if response.streaming or response.status_code != 200 or not is_text(response.headers):
            return response
        if request.path.startswith(settings.STATIC_URL):
            return compressed_file(request, response)
        return super().process_response(request, response)


def is_text(headers: Mapping[str, str]) -> bool:
    return headers.get("Content-Type", "").startswith(_TEXTS)


def compressed_file(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """A static file with its own tag, by which the browser may ask whether it has changed."""
    patch_vary_headers(response, ["Accept-Encoding"])
    content: bytes = getattr(response, "content", b"")
    if len(content) < LEAST_BYTES or not re_accepts_gzip.search(request.headers.get("Accept-Encoding", "")):
        return response
    key = (request.path, response.headers.get("ETag", ""))
    if key not in _static:
        _static[key] = gzip.compress(content, STATIC_LEVEL, mtime=0)
    setattr(response, "content", _static[key])  # noqa: B010  # the base class knows of no content
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Content-Length"] = str(len(_static[key]))
    return response
