"""`manage.py serve`: database, migrations, web and worker under one parent."""

import os
from argparse import ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from hermes_site.login.links import make_owner_link
from hermes_site.postgres import embedded
from hermes_site.postgres.attachment import Attachment
from hermes_site.serve.address import announced
from hermes_site.serve.listening import Endpoint, PortUnavailable, is_unspecified, listen
from hermes_site.serve.preparation import prepare_database
from hermes_site.serve.supervisor import NeverReady, Supervisor

HIGHEST_PORT = 65_535


class Command(BaseCommand):
    help = "Run the whole site: database (unless DATABASE_URL names one), migrations, web and worker."
    # Checks would look at the database, which is not up yet.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        parser.add_argument("--port", type=port_number, default=8000, help="port to listen on (default: %(default)s)")
        parser.add_argument("--no-samples", action="store_true", help="don't load sample sessions into a new database")

    def handle(self, *, host: str, port: int, no_samples: bool, **options: Any) -> None:
        try:
            listener, endpoint = listen(host, port)
        except PortUnavailable as error:
            raise CommandError(str(error)) from error
        allow_host(endpoint)
        with listener:
            database = self.attach_database()
            prepare_database(self.say, with_samples=not no_samples)
            supervisor = Supervisor(listener, settings.BASE_DIR, database, self.say)
            supervisor.answer_signals()
            try:
                supervisor.start()
                with announced(settings.VAR_DIR, endpoint.url):
                    self.greet(endpoint)
                    supervisor.run_until_stopped()
            except NeverReady as error:
                raise CommandError("The web process does not come up; its messages stand above.") from error
            finally:
                supervisor.stop()
        self.leave_database(database)

    def attach_database(self) -> Attachment | None:
        if settings.DATABASE_ADDRESS is not None:
            self.say("Database: the one of DATABASE_URL")
            return None
        embedded.attach(settings.DATABASES["default"]["NAME"])
        place = embedded.attachment().place
        note = " (moved: the database's user can't enter the checkout)" if place.is_relocated else ""
        self.say(f"Database: PostgreSQL {place.data_major} in {place.data}{note}, run by {place.server_user}")
        return embedded.attachment()

    def greet(self, endpoint: Endpoint) -> None:
        link = make_owner_link(endpoint.url)
        self.say(f"Serving on {endpoint.url}/ (stop with Ctrl-C)")
        self.say(f"Log in with this link, once, within {link.lifetime_minutes} minutes: {link.url}")

    def leave_database(self, database: Attachment | None) -> None:
        if database is not None:
            was_last = embedded.close_connections_and_detach()
            self.say("Stopped." if was_last else "Stopped; the database goes on for another process that uses it.")

    def say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def port_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= HIGHEST_PORT):
        raise ArgumentTypeError(f"a port is a whole number from 0 to {HIGHEST_PORT}, not {text!r}")
    return int(text)


def allow_host(endpoint: Endpoint) -> None:
    """The host that the operator named on the command line is one by which the site may be called."""
    if not os.environ.get("HERMES_SITE_ALLOWED_HOSTS") and not is_unspecified(endpoint.host):
        host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        names = [*settings.ALLOWED_HOSTS, *([] if host in settings.ALLOWED_HOSTS else [host])]
        os.environ["HERMES_SITE_ALLOWED_HOSTS"] = ",".join(names)
