"""The log of compaction passes, a file that the report script reads: `<home>/logs/agent.log`.

home is `$HERMES_HOME` where that is set, else the site's own folder; no foreign agent's home is written to unasked.
The file is opened when there is a first line to write, and again when somebody has rotated it away.
"""

import copy
import logging
import os
from logging.handlers import WatchedFileHandler
from pathlib import Path

from django.conf import settings


def agent_log_path() -> Path:
    """Where the log lies now."""
    home = os.environ.get("HERMES_HOME", "").strip()
    return Path(home or settings.VAR_DIR).expanduser() / "logs" / "agent.log"


class AgentLogHandler(logging.Handler):
    """Hands lines to a file handler that is made with the first of them, when the settings are complete."""

    def __init__(self) -> None:
        super().__init__()
        self._file: WatchedFileHandler | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line. A log that can't be written is told on stderr and stops nothing."""
        try:
            if self._file is None:
                self._file = self._open()
            # A formatter leaves its results on the record, and other handlers would take them for news.
            self._file.emit(copy.copy(record))
        except OSError:
            self.handleError(record)

    def _open(self) -> WatchedFileHandler:
        path = agent_log_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = WatchedFileHandler(path, encoding="utf-8")
        opened.setFormatter(self.formatter)
        return opened

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        super().close()
