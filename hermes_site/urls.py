"""The root of all addresses. The site itself has the way in and the health check; the rest belongs to sessions_app."""

from django.urls import URLPattern, URLResolver, include, path

from hermes_site.health import health

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("hermes_site.login.urls")),
    path("healthz", health, name="health"),
    path("", include("sessions_app.urls")),
]

handler404 = "sessions_app.views.missing.missing"
