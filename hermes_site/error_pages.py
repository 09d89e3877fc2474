"""What Django's page for developers, and reports to administrators, may show of an error: never what was marked secret.

Django itself hides it only where debugging is off. A developer's screen is shared, too, and reports are pasted.
"""

from django.http import HttpRequest
from django.views.debug import SafeExceptionReporterFilter


class HidingFilter(SafeExceptionReporterFilter):
    """Hides marked variables and fields whether debugging is on or off."""

    def is_active(self, request: HttpRequest | None) -> bool:
        """Always."""
        return True
