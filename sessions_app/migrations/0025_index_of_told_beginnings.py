"""The index by which the gateway finds the newest sessions that began in the same way.

It takes the place of one without the session, under which all of them had to be read.

Both steps without locking the table against writes.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("sessions_app", "0024_source_of_imports")]

    operations = [
        AddIndexConcurrently(
            "toldmessage", models.Index(fields=["project", "prefix", "-session"], name="told_by_beginning")
        ),
        RemoveIndexConcurrently("toldmessage", "told_by_prefix"),
    ]
