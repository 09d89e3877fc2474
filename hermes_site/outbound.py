"""Where the site may send requests, read from the environment.

Models are asked at addresses that people type into settings, so what an address may reach is the operator's to say and
not theirs. Without a word from the operator: public hosts only, and only keys whose variable is named like one.
"""

import os
from collections.abc import Mapping

from django.core.exceptions import ImproperlyConfigured

from compaction.endpoints.address import OutboundRules
from compaction.errors import InvalidInput
from hermes_site import env

HOSTS = "HERMES_SITE_OUTBOUND_HOSTS"
LOOPBACK = "HERMES_SITE_OUTBOUND_LOOPBACK"
PRIVATE = "HERMES_SITE_OUTBOUND_PRIVATE"
KEYS = "HERMES_SITE_OUTBOUND_KEYS"


def outbound_rules(environ: Mapping[str, str] = os.environ) -> OutboundRules:
    """The rules of this installation. Raises ImproperlyConfigured for an entry that could never match anything."""
    try:
        return OutboundRules(
            allowed=env.words(HOSTS, (), environ),
            allow_loopback=env.boolean(LOOPBACK, False, environ),
            allow_private=env.boolean(PRIVATE, False, environ),
            keys=env.words(KEYS, OutboundRules().keys, environ),
        )
    except InvalidInput as error:
        raise ImproperlyConfigured(f"{HOSTS} or {KEYS}: {error}") from error
