"""The Django application that stores and shows agent sessions."""

from django.apps import AppConfig


class SessionsAppConfig(AppConfig):
    # Django's own login sessions already own the label "sessions".
    name = "sessions_app"
    label = "sessions_app"
    verbose_name = "Hermes Sessions"
