"""The root of all addresses. The site itself has none: pages and API belong to sessions_app."""

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("sessions_app.urls")),
]
