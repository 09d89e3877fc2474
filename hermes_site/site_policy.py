"""What the operator sets for all projects: the `compression:` and `auxiliary:` blocks of one YAML file.

It is read once, when the site starts. A file that can't be read or holds a value that can't be used stops the start
with the file, the line and the reason: a site that ran on other settings than its operator wrote would be worse.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from compaction.config_yaml import read_config_yaml, read_policy_yaml
from compaction.errors import InvalidInput
from compaction.policy_reading import AUXILIARY, COMPRESSION, without_secrets
from compaction.settings import Severity
from hermes_site import env

NAME = "HERMES_SITE_POLICY"
# What nobody can have meant: the file must be mended. Keys that are not used here are fine in a shared file.
_REFUSED = (Severity.ERROR, Severity.CLAMPED, Severity.UNKNOWN)


def site_policy(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The blocks of the file that the variable names; empty without one. Raises ImproperlyConfigured."""
    name = env.text(NAME, "", environ)
    if not name:
        return {}
    try:
        text = Path(name).read_bytes()
        reading, blocks = read_policy_yaml(text), read_config_yaml(text)
    except OSError as error:
        raise ImproperlyConfigured(f"{NAME}={name!r} can't be read: {error.strerror}.") from error
    except InvalidInput as error:
        raise ImproperlyConfigured(f"{NAME}={name!r}: {error}.") from error
    refused = [one for one in reading.problems if one.severity in _REFUSED]
    if refused:
        lines = (f"line {one.line}, {one.key}: {one.message}" for one in refused)
        raise ImproperlyConfigured(f"{NAME}={name!r}: " + "; ".join(lines) + ".")
    return {key: without_secrets(value) for key, value in blocks.items() if key in (COMPRESSION, AUXILIARY)}
