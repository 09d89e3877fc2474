"""The forms that delete a session or a project: its id or name has to be typed, so that no stray click can do it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from sessions_app.models import Project, Session


class DeletionForm(forms.Form):
    """typed: the public id of `session`."""

    typed = forms.CharField(required=False, max_length=100)

    def __init__(self, data: Any, *, session: Session) -> None:
        super().__init__(data)
        self._session = session

    def clean_typed(self) -> str:
        """The id as it was typed, spaces around it aside."""
        typed: str = self.cleaned_data["typed"].strip()
        if typed != self._session.public_id:
            raise forms.ValidationError(_("This is not the id of the session. Nothing was deleted."))
        return typed


class ProjectDeletionForm(forms.Form):
    """typed: the name of `project`."""

    typed = forms.CharField(required=False, max_length=300)

    def __init__(self, data: Any, *, project: Project) -> None:
        super().__init__(data)
        self._project = project

    def clean_typed(self) -> str:
        """The name as it was typed, spaces around it aside."""
        typed: str = self.cleaned_data["typed"].strip()
        if typed != self._project.name.strip():
            raise forms.ValidationError(_("This is not the name of the project. Nothing was deleted."))
        return typed
