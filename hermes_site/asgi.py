"""The ASGI entry point: HTTP goes to Django, websockets go to the consumers of sessions_app.

A websocket is only accepted from a page of this site (origin check) and carries the login of that page.
"""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_site.settings")
# Loads the apps; only afterwards may anything that imports models be imported.
django_application = get_asgi_application()

from sessions_app.routing import websocket_urlpatterns  # noqa: E402 (the apps must be loaded first)

application = ProtocolTypeRouter(
    {
        "http": django_application,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
