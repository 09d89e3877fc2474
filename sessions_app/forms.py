"""Forms of the pages: what an address or a POST may say, checked, and turned into values. No queries of their own."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from sessions_app.cache_assumption import CacheAssumption, assume
from sessions_app.models import PassKind, Session
from sessions_app.pages.cache_page import CacheView
from sessions_app.pages.ledger import LedgerFilter
from sessions_app.pages.next_pass import NextChoice, NextKind
from sessions_app.pages.session_list import Period, SessionFilters, SessionOrder
from sessions_app.pages.transcript import Place, RowFilter

MAX_POSITION: Final = 2**62
# The database numbers the characters of a text from 1 and in four bytes.
MAX_CHAR: Final = 2**31 - 2


PERIODS = (
    ("", _("Any date")),
    (Period.DAY.value, _("Last 24 hours")),
    (Period.WEEK.value, _("Last 7 days")),
    (Period.MONTH.value, _("Last 30 days")),
    (Period.YEAR.value, _("Last 12 months")),
)
ORDERS = (
    (SessionOrder.ACTIVITY.value, _("last activity")),
    (SessionOrder.OCCUPANCY.value, _("occupancy")),
    (SessionOrder.TOKENS.value, _("tokens")),
    (SessionOrder.ARCHIVED.value, _("archived rows")),
)


class SessionFilterForm(forms.Form):
    """The filters of the session list. An address that says something impossible shows the list without that filter."""

    q = forms.CharField(required=False, max_length=200)
    project = forms.CharField(required=False, max_length=64)
    source = forms.CharField(required=False, max_length=40)
    model = forms.CharField(required=False, max_length=200)
    period = forms.ChoiceField(required=False, choices=PERIODS)
    live = forms.BooleanField(required=False)
    has_batch = forms.BooleanField(required=False)
    has_defrag = forms.BooleanField(required=False)
    has_failures = forms.BooleanField(required=False)
    over = forms.FloatField(required=False, min_value=0, max_value=1_000)
    sort = forms.ChoiceField(required=False, choices=ORDERS)
    after = forms.CharField(required=False, max_length=100)
    before = forms.CharField(required=False, max_length=100)

    def filters(self) -> SessionFilters:
        """What was asked for, leaving out whatever is not valid."""
        self.is_valid()
        asked = self.cleaned_data
        return SessionFilters(
            words=asked.get("q", ""),
            project_slug=asked.get("project", ""),
            source=asked.get("source", ""),
            model=asked.get("model", ""),
            period=Period(asked["period"]) if asked.get("period") else None,
            is_live=asked.get("live", False),
            has_batch=asked.get("has_batch", False),
            has_defrag=asked.get("has_defrag", False),
            has_failures=asked.get("has_failures", False),
            occupancy_over_pct=asked.get("over"),
            order=SessionOrder(asked.get("sort") or SessionOrder.ACTIVITY),
            after=asked.get("after", ""),
            before=asked.get("before", ""),
        )

    def period_label(self, period: Period | None) -> str:
        """The words for a period."""
        return str(dict(PERIODS)[period.value if period else ""])


class KeyField(forms.CharField):
    """A row's place in an address: `position-id`."""

    def to_python(self, value: object) -> tuple[int, int] | None:  # type: ignore[override]
        position, _, row_id = str(value or "").partition("-")
        if position.isdecimal() and row_id.isdecimal() and len(position) < 19 and len(row_id) < 19:
            return int(position), int(row_id)
        return None

    def run_validators(self, value: object) -> None:
        """Nothing is left to validate."""


class TranscriptForm(forms.Form):
    """Where in a transcript the reader is. Whatever is not valid counts as not said."""

    show = forms.ChoiceField(required=False, choices=[(one.value, one.value) for one in RowFilter])
    row = forms.IntegerField(required=False, min_value=0, max_value=MAX_POSITION)
    after = KeyField(required=False)
    before = KeyField(required=False)
    end = forms.BooleanField(required=False)
    open = forms.CharField(required=False, max_length=20)
    go = forms.BooleanField(required=False)
    at = forms.IntegerField(required=False, min_value=0, max_value=MAX_POSITION)
    find = forms.CharField(required=False, max_length=200)
    # `pass` is a word of Python.
    vars()["pass"] = forms.IntegerField(required=False, min_value=1, max_value=MAX_POSITION)

    def _said(self, name: str) -> Any:
        self.is_valid()
        return self.cleaned_data.get(name)

    def row_filter(self) -> RowFilter:
        """Which rows to show."""
        return RowFilter(self._said("show") or RowFilter.ALL)

    def seq(self) -> int | None:
        """The event at which to look, None for now."""
        seq: int | None = self._said("at")
        return seq

    def place(self) -> Place:
        """The place in the transcript."""
        opened = self._said("open") or ""
        return Place(
            position=self._said("row"),
            pass_number=self._said_pass(),
            after=self._said("after"),
            before=self._said("before"),
            from_end=bool(self._said("end")),
            is_gap="after" in self.data or "before" in self.data,
            open_all=opened == "all",
        )

    def find_words(self) -> str:
        """What to find in the session; empty when nothing is looked for."""
        words: str = self._said("find") or ""
        return words

    def jump_position(self) -> int | None:
        """The row to which the field for numbers leads; None when it was not used or holds no number."""
        position: int | None = self._said("row") if self._said("go") else None
        return position

    def pass_number(self) -> int | None:
        """The pass whose rows are asked for; None for rows that were rewound."""
        number: int | None = self._said("pass")
        return number

    def _said_pass(self) -> int | None:
        opened = self._said("open") or ""
        return int(opened) if opened.isdecimal() and len(opened) < 10 else None


class PieceForm(forms.Form):
    """Which piece of a long text is asked for, and whether it goes into a tool call's result."""

    first = forms.IntegerField(required=False, min_value=0, max_value=MAX_CHAR)
    part = forms.ChoiceField(required=False, choices=[("result", "result"), ("next", "next")])

    def _said(self, name: str) -> Any:
        self.is_valid()
        return self.cleaned_data.get(name)

    def first_char(self) -> int:
        """The first character wanted, from 0."""
        return self._said("first") or 0

    def part_name(self) -> str:
        """Where the piece goes; empty for a row's own body."""
        return self._said("part") or ""


class LedgerForm(forms.Form):
    """Which passes the ledger lists."""

    kind = forms.ChoiceField(required=False, choices=PassKind.choices)
    outcome = forms.RegexField(r"^[a-z_]{1,40}$", required=False)
    before = forms.IntegerField(required=False, min_value=1, max_value=MAX_POSITION)
    over = forms.FloatField(required=False, min_value=0, max_value=100_000)
    slower = forms.IntegerField(required=False, min_value=0, max_value=MAX_POSITION)
    larger = forms.IntegerField(required=False, min_value=0, max_value=MAX_POSITION)
    freed = forms.BooleanField(required=False)

    def ledger_filter(self) -> LedgerFilter:
        """What was asked for, leaving out whatever is not valid."""
        self.is_valid()
        asked = self.cleaned_data
        return LedgerFilter(
            asked.get("kind") or "",
            asked.get("outcome") or "",
            asked.get("before"),
            over_pct=asked.get("over"),
            slower_ms=asked.get("slower"),
            larger_tokens=asked.get("larger"),
            has_freed=bool(asked.get("freed")),
        )


class CacheForm(forms.Form):
    """Under which prices the cache tab counts, and which page of which table it shows."""

    table = forms.RegexField(r"^[a-z0-9-]{1,40}$", required=False)
    model = forms.CharField(required=False, max_length=200)
    pauses = forms.ChoiceField(required=False, choices=[("none", "none")])
    view = forms.ChoiceField(required=False, choices=[(one.value, one.value) for one in CacheView])
    before = forms.IntegerField(required=False, min_value=1, max_value=MAX_POSITION)

    def assumption(self, session: Session) -> CacheAssumption:
        """The chosen prices, with the session's own model where none is named."""
        self.is_valid()
        asked = self.cleaned_data
        has_no_pauses = asked.get("pauses") == "none"
        return assume(asked.get("table") or "", asked.get("model") or "", session, has_no_pauses=has_no_pauses)

    def cache_view(self, session: Session) -> CacheView:
        """The table to show: passes where there are any."""
        self.is_valid()
        asked = self.cleaned_data.get("view")
        return CacheView(asked or (CacheView.PASSES if session.passes_total else CacheView.REQUESTS))

    def before_number(self) -> int | None:
        """Where the table goes on."""
        self.is_valid()
        return self.cleaned_data.get("before")


class NextForm(forms.Form):
    """Which pass to come is shown, and whether with a summary."""

    kind = forms.ChoiceField(required=False, choices=[(one.value, one.value) for one in NextKind])
    # `with` is a word of Python.
    vars()["with"] = forms.ChoiceField(required=False, choices=[("extractive", "extractive")])

    def choice(self) -> NextChoice:
        """What was asked for, leaving out whatever is not valid."""
        self.is_valid()
        asked = self.cleaned_data
        return NextChoice(NextKind(asked.get("kind") or ""), bool(asked.get("with")))


class UpdatesForm(forms.Form):
    """From which event on a page wants to catch up, and which tab of the session it is."""

    tab = forms.RegexField(r"^[a-z]{1,20}$", required=False)
    after = forms.IntegerField(required=False, min_value=0, max_value=MAX_POSITION)

    def after_seq(self) -> int:
        """The last event the page has seen; none counts as the very beginning."""
        self.is_valid()
        return self.cleaned_data.get("after") or 0

    def tab_name(self) -> str:
        """The tab to show as the current one; empty when none is."""
        self.is_valid()
        return self.cleaned_data.get("tab") or ""
