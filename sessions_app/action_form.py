"""The form of the page on which people act on a session: one action, with what it needs."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from sessions_app.models import Session
from sessions_app.services.pass_requests import MOST_FOCUS_CHARS

MOST_HOLD_TURNS = 1_000


class Action(StrEnum):
    """What can be done."""

    MICRO = "micro"
    BATCH = "batch"
    UNDO = "undo"
    HOLD = "hold"
    RESUME = "resume"
    RESET = "reset"
    BRANCH = "branch"


class SeqForm(forms.Form):
    """The event an address or a form names for a branch."""

    seq = forms.IntegerField(required=False, min_value=1, max_value=2**62)

    def seq_or_none(self) -> int | None:
        """The event; None when none is named, or nothing that could be one."""
        self.is_valid()
        found: int | None = self.cleaned_data.get("seq")
        return found


class ActionForm(forms.Form):
    """One action on `session`. A session that was imported can only be branched: its rows are somebody else's."""

    action = forms.ChoiceField(choices=[(action.value, action.value) for action in Action])
    focus = forms.CharField(required=False, max_length=MOST_FOCUS_CHARS)
    turns = forms.IntegerField(required=False, min_value=1, max_value=MOST_HOLD_TURNS)
    seq = forms.IntegerField(required=False, min_value=1)
    is_sure = forms.BooleanField(required=False)

    def __init__(self, data: Any, *, session: Session) -> None:
        super().__init__(data)
        self._session = session

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        action = cleaned.get("action")
        if action and action != Action.BRANCH and self._session.source != Session.HOSTED:
            raise forms.ValidationError(_("This session was imported. Branch it, and act on the branch."))
        if action == Action.RESET and not cleaned.get("is_sure"):
            self.add_error("is_sure", _("Tick the box if you are sure."))
        if action == Action.BRANCH and "seq" in cleaned and not 1 <= (cleaned["seq"] or 0) <= self._session.last_seq:
            self.add_error("seq", _("Choose an event from 1 to %(last)d.") % {"last": self._session.last_seq})
        return cleaned
