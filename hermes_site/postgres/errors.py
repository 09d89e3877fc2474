"""The one error of the launcher: the embedded database can't run, and why."""


class ServerUnavailable(Exception):
    """Its text is one sentence for the operator: what is wrong, where, and what helps."""
