"""The site as a Django application, for the sake of its management commands and of what happens at each login."""

from django.apps import AppConfig


class HermesSiteConfig(AppConfig):
    name = "hermes_site"
    label = "hermes_site"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in

        from hermes_site.login.lifetime import note_login

        user_logged_in.connect(note_login, dispatch_uid="note_login")
