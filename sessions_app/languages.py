"""The languages of the pages: which there are, and which one a reader gets.

A cookie says what was chosen; without one the browser's wishes decide. Programs always get English: what the API says
must not depend on who asks, so its addresses are left out.
"""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

COOKIE_MAX_AGE_SECONDS: Final = 400 * 24 * 3600  # the longest that browsers keep
FOR_PROGRAMS: Final = ("/api/", "/v1/", "/healthz")


def is_for_programs(path: str) -> bool:
    """Whether an address is asked by programs rather than by people."""
    return path.startswith(FOR_PROGRAMS)


def other_languages(code: str) -> tuple[tuple[str, str], ...]:
    """The languages a reader can change to: code and own name of each."""
    return tuple((one, name) for one, name in settings.LANGUAGES if one != code)


class ReaderLanguageMiddleware(LocaleMiddleware):
    """Django's choice of a language, for the pages that people read."""

    def process_request(self, request: HttpRequest) -> None:
        """Take the reader's language, or English for programs."""
        if not is_for_programs(request.path_info):
            super().process_request(request)
            return
        translation.activate(settings.LANGUAGE_CODE)
        request.LANGUAGE_CODE = settings.LANGUAGE_CODE

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """What programs get doesn't vary by language."""
        return response if is_for_programs(request.path_info) else super().process_response(request, response)
