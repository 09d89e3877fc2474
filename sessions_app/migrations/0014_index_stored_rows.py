"""The words of rows that were stored before there was a search.

In batches of a transaction each, so nothing is locked for longer than a moment and an interrupted migration goes on
where it was. The words are made by the site's own code, which names the few columns it reads.
"""

from typing import Any

from django.db import migrations


def index_stored_rows(apps: Any, schema_editor: Any) -> None:
    from sessions_app.services.row_words import index_missing_rows

    for _ in index_missing_rows():
        pass


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("sessions_app", "0013_words_of_rows")]

    operations = [migrations.RunPython(index_stored_rows, migrations.RunPython.noop)]
