"""The web process: uvicorn on the parent's listening socket. Run by `serve` as `python -m hermes_site.serve.web`.

Arguments: the descriptor of the listening socket, and of a pipe that gets one byte once requests are answered.
"""

import logging
import os
import socket
import sys

import uvicorn

from hermes_site.serve.parent_watch import end_with_parent

# Browsers hold live connections open for hours; a stop must not wait for them.
GRACEFUL_SHUTDOWN_SECONDS = 3


class AnnouncingServer(uvicorn.Server):
    """Tells the parent when it accepts connections."""

    def __init__(self, config: uvicorn.Config, ready_descriptor: int) -> None:
        super().__init__(config)
        self._ready_descriptor = ready_descriptor

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            os.write(self._ready_descriptor, b"1")


def main(listener_descriptor: int, ready_descriptor: int) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_site.settings")
    end_with_parent()
    config = uvicorn.Config(
        "hermes_site.asgi:application",
        timeout_graceful_shutdown=GRACEFUL_SHUTDOWN_SECONDS,
        # Loading the settings has set up logging; uvicorn's own setup would print every line twice.
        log_config=None,
        access_log=False,
        # Messages are a hundred bytes: compressing them would cost memory and time for each client and save nothing.
        ws_per_message_deflate=False,
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    AnnouncingServer(config, ready_descriptor).run(sockets=[socket.socket(fileno=listener_descriptor)])


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
