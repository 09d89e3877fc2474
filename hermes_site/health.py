"""`/healthz`: whether this process can answer and reach its database, for whoever watches over the site."""

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache


@login_not_required
@never_cache
def health(request: HttpRequest) -> HttpResponse:
    """200 "ok", or 503 with one line. Says nothing about versions, addresses or data."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("select 1")
    except DatabaseError:
        return HttpResponse("The database does not answer.\n", status=503, content_type="text/plain")
    return HttpResponse("ok\n", content_type="text/plain")
