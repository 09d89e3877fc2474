"""Where a switch leads back to: never off this site."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def place_to_go_back_to(request: HttpRequest) -> str:
    """The address that the form names, or the first page when it leads elsewhere."""
    back = request.POST.get("next", "/")
    is_here = url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure())
    return back if is_here else "/"
