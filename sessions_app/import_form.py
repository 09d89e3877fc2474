"""The form of the import page: files and the project they go into."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from sessions_app.models import Project


class FilesInput(forms.ClearableFileInput):
    """A field that takes several files."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """One file or more; the cleaned value is a list."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile[bytes]]:
        """Every file checked like a single one. An empty file is taken: its result says that it holds nothing."""
        if not data:
            super().clean(None, initial)
        files = data if isinstance(data, list | tuple) else [data]
        return [super(FilesField, self).clean(one, initial) for one in files]


class ImportForm(forms.Form):
    """Files to import. Only projects in which the reader may write are offered."""

    uploads = FilesField(
        label=_("Files"), allow_empty_file=True, error_messages={"required": _("Choose at least one file.")}
    )
    project = forms.ModelChoiceField(
        label=_("Project"),
        queryset=Project.objects.none(),
        to_field_name="slug",
        empty_label=None,
        error_messages={"invalid_choice": _("You can't import into this project.")},
    )

    def __init__(self, *arguments: Any, projects: QuerySet[Project], **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.fields["project"].queryset = projects.order_by("name")  # type: ignore[attr-defined]
