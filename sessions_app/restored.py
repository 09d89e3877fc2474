"""What a session that was restored from an export remembers of that, among its extras.

The idea: such a session is told as it was elsewhere, calls included, and whoever asks about this site must be able to
leave those out.
"""

from __future__ import annotations

from typing import Final

from django.db.models import BigIntegerField, F, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce

from sessions_app.models import ModelCall

# Where the copy stood when it was restored: it is brought up to date only as long as it stands there.
RESTORED_SEQ: Final = "restored_seq"
# Id of the newest call that came with the export, 0 when none did.
RESTORED_CALL: Final = "restored_call"


def calls_made_here() -> QuerySet[ModelCall]:
    """All calls but those that came with an export: these were made elsewhere."""
    newest = Cast(KeyTextTransform(RESTORED_CALL, F("session__extras")), BigIntegerField())
    return ModelCall.objects.filter(id__gt=Coalesce(newest, 0))
