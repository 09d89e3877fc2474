"""The forms that delete a session or a project: its id or name has to be typed, so that no stray click can do it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from sessions_app.models import Project, Session


class _TypedForm(forms.Form):
    """typed: what the form asks for, word for word; spaces around it don't matter. refusal: said of anything else."""

    refusal: Any

    def __init__(self, data: Any, *, expected: str) -> None:
        super().__init__(data)
        self._expected = expected.strip()

    def clean_typed(self) -> str:
        """What was typed, spaces around it aside."""
        typed: str = self.cleaned_data["typed"].strip()
        if typed != self._expected:
            raise forms.ValidationError(self.refusal)
        return typed


class DeletionForm(_TypedForm):
    """typed: the public id of `session`."""

    typed = forms.CharField(required=False, max_length=100)
    refusal = _("This is not the id of the session. Nothing was deleted.")

    def __init__(self, data: Any, *, session: Session) -> None:
        super().__init__(data, expected=session.public_id)


class ProjectDeletionForm(_TypedForm):
    """typed: the name of `project`."""

    typed = forms.CharField(required=False, max_length=300)
    refusal = _("This is not the name of the project. Nothing was deleted.")

    def __init__(self, data: Any, *, project: Project) -> None:
        super().__init__(data, expected=project.name)
