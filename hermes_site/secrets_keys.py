"""The site keys that encrypt stored keys, read from the environment. The first one encrypts, all of them decrypt."""

import os
from collections.abc import Mapping

from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from hermes_site import env

VARIABLE = "HERMES_SITE_SECRETS_KEY"


def secrets_keys(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The keys; none when the variable is not set. Raises ImproperlyConfigured, without repeating any of them."""
    try:
        keys = env.words(VARIABLE, (), environ)
        for key in keys:
            Fernet(key)
    except (ValueError, ImproperlyConfigured):
        raise ImproperlyConfigured(
            f"{VARIABLE} is not a key, or several separated by commas, as `manage.py new_secrets_key` makes them."
        ) from None
    return keys
