"""The site as a Django application, for the sake of its management commands."""

from django.apps import AppConfig


class HermesSiteConfig(AppConfig):
    name = "hermes_site"
    label = "hermes_site"
