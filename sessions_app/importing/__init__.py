"""Foreign sessions into rows.

A source is a sequence of events (`compaction.formats.events`); importing folds them into the same rows, stamps, passes
and counters that hosted sessions have, by COPY in chunks, one transaction a session. Importing the same source again
adds only what is new: rows are known by the source's ids, passes by a digest of what they did. Must not read files in
a format of its own (that is `compaction.formats`) or decide what a pass would do.
"""

from sessions_app.importing.files import import_file, import_files, import_paths
from sessions_app.importing.outcomes import FileImport, SessionImport
from sessions_app.importing.sessions import import_session

__all__ = ["FileImport", "SessionImport", "import_file", "import_files", "import_paths", "import_session"]
