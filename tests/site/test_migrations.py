"""Models and migrations say the same."""

from io import StringIO

import pytest
from django.core.management import call_command


@pytest.mark.django_db
def test_every_change_of_the_models_has_its_migration():
    output = StringIO()
    call_command("makemigrations", check=True, dry_run=True, stdout=output)
    assert output.getvalue() == "No changes detected\n"
