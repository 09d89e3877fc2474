"""Columns for texts that this program words itself, so that they are shown in the language of whoever reads them.

To the database, and so to migrations, they are columns of text or JSON like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

from compaction.wording import wording_from_json, wording_from_text, wording_to_json, wording_to_text

if TYPE_CHECKING:
    _Field = models.Field[str, str]
    _TextField = models.TextField[str, str]
    _CharField = models.CharField[str, str]
else:
    _Field, _TextField, _CharField = object, models.TextField, models.CharField


class _Worded(_Field):
    """Keeps a wording with its template and figures; any other text as it is."""

    plain_field: str

    def deconstruct(self) -> Any:
        """As the plain field of this kind."""
        name, _path, args, kwargs = super().deconstruct()
        return name, self.plain_field, args, kwargs

    def from_db_value(self, value: str | None, expression: object, connection: object) -> str | None:
        """The text, or the wording."""
        return None if value is None else wording_from_text(value)

    def get_prep_value(self, value: Any) -> Any:
        """The text as the column keeps it."""
        return wording_to_text(value) if isinstance(value, str) else super().get_prep_value(value)


class WordedTextField(_Worded, _TextField):
    """A text of any length."""

    plain_field = "django.db.models.TextField"


class WordedCharField(_Worded, _CharField):
    """A text of limited length; the limit is that of the kept form."""

    plain_field = "django.db.models.CharField"


class WordedListField(models.JSONField):
    """A list of texts."""

    def deconstruct(self) -> Any:
        """As the plain field of this kind."""
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> list[str] | None:
        """The texts, wordings among them."""
        kept = super().from_db_value(value, expression, connection)
        return None if kept is None else [wording_from_json(one) for one in kept]

    def get_prep_value(self, value: Any) -> Any:
        """The texts as the column keeps them."""
        return super().get_prep_value(None if value is None else [wording_to_json(one) for one in value])
