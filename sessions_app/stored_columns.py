"""Columns of stored records as JSON and back, for exports that must come back as they were.

Must not query or write. Links to other records are not columns here: whoever writes or reads them knows how they are
named outside. Nothing that comes in is trusted: each value has the type and the size of its column, or is refused.
Every number that is stored counts or measures something, so none is negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

from django.db import models

from compaction.storable import storable_text
from sessions_app.mapping import MAX_INT4, MAX_INT8, storable_json

_LARGEST: Final = (
    (models.SmallIntegerField, 2**15 - 1),
    (models.PositiveSmallIntegerField, 2**15 - 1),
    (models.BigIntegerField, MAX_INT8),
    (models.IntegerField, MAX_INT4),
)
# A moment must have a date in every time zone: the database keeps others, and nobody could read the record again.
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC) + timedelta(days=1)
_LATEST: Final = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)
Field: TypeAlias = "models.Field[Any, Any]"


class InvalidColumn(ValueError):
    """A value that its column can't hold."""


def own_columns(model: type[models.Model]) -> tuple[Field, ...]:
    """All columns of a record but its key and its links."""
    return tuple(field for field in model._meta.concrete_fields if not field.primary_key and not field.is_relation)


def columns_of(record: models.Model, names: Iterable[str] | None = None) -> dict[str, Any]:
    """The columns of a record as JSON data, by name: all of its own, or those named."""
    wanted = None if names is None else set(names)
    every = own_columns(type(record))
    return {field.name: _told(getattr(record, field.name)) for field in every if wanted is None or field.name in wanted}


def _told(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def columns_from(
    model: type[models.Model], told: Mapping[str, Any], names: Iterable[str] | None = None
) -> dict[str, Any]:
    """Values for the columns of a record: for all of its own, or for those named. Raises InvalidColumn.

    What is not told takes its default or is unknown.
    """
    wanted = None if names is None else set(names)
    return {field.name: _read(field, told) for field in own_columns(model) if wanted is None or field.name in wanted}


def _read(field: Field, told: Mapping[str, Any]) -> Any:
    if field.name not in told and field.has_default():
        return field.get_default()
    value = told.get(field.name)
    if value is None:
        if not field.null:
            raise InvalidColumn(f"{field.name} is missing")
        return None
    return _value(field, value)


def _value(field: Field, value: Any) -> Any:
    if isinstance(field, models.JSONField):
        return storable_json(value)
    if isinstance(field, models.BooleanField):
        return _typed(field, value, bool)
    if isinstance(field, models.IntegerField):
        return _whole(field, value)
    if isinstance(field, models.FloatField):
        return _float(field, value)
    if isinstance(field, models.DecimalField):
        return _decimal(field, value)
    if isinstance(field, models.DateTimeField):
        return _time(field, value)
    return _text(field, value)


def _typed(field: Field, value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise InvalidColumn(f"{field.name} is no {kind.__name__}")
    return value


def _whole(field: Field, value: Any) -> int:
    number: int = _typed(field, value, int)
    most = next(limit for kind, limit in _LARGEST if isinstance(field, kind))
    if not 0 <= number <= most:
        raise InvalidColumn(f"{field.name} is out of bounds")
    return number


def _float(field: Field, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidColumn(f"{field.name} is no number")
    if not 0 <= value <= 1e300:
        raise InvalidColumn(f"{field.name} is out of bounds")
    return float(value)


def _decimal(field: models.DecimalField[Any, Any], value: Any) -> Decimal:
    try:
        number = Decimal(_typed(field, value, str))
    except InvalidOperation as error:
        raise InvalidColumn(f"{field.name} is no number") from error
    if not number.is_finite() or not 0 <= number < Decimal(10) ** (field.max_digits - field.decimal_places):
        raise InvalidColumn(f"{field.name} is out of bounds")
    return number


def _time(field: Field, value: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(_typed(field, value, str))
    except ValueError as error:
        raise InvalidColumn(f"{field.name} is no time") from error
    if moment.tzinfo is None:
        raise InvalidColumn(f"{field.name} names no time zone")
    try:
        utc = moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidColumn(f"{field.name} is out of bounds") from error
    if not _EARLIEST < utc < _LATEST:
        raise InvalidColumn(f"{field.name} is out of bounds")
    return utc


def _text(field: Field, value: Any) -> str:
    text = storable_text(_typed(field, value, str))
    if field.max_length is not None and len(text) > field.max_length:
        raise InvalidColumn(f"{field.name} is too long")
    if field.choices and text not in {known for known, _ in field.flatchoices}:
        raise InvalidColumn(f"{field.name} is of no known kind")
    return text
