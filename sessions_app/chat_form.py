"""The forms of the chat: what is said, in a session or in a new one."""

from __future__ import annotations

import secrets
from typing import Any, Final

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from sessions_app.main_model.connecting import is_reachable
from sessions_app.models import Project

# More than any window takes today; a paste of that size is a mistake or a file.
MOST_CHARS: Final = 2_000_000
LONGEST_TITLE_CHARS: Final = 80


class SayForm(forms.Form):
    """What a person says. client_id: made by the page for each sending, so that it can be sent again."""

    text = forms.CharField(
        label=gettext_lazy("Your message"),
        strip=False,
        max_length=MOST_CHARS,
        error_messages={
            "required": gettext_lazy("Write something first."),
            "max_length": gettext_lazy(
                "This is too long: %(show_value)d characters, and a message can have %(limit_value)d."
            ),
        },
    )
    client_id = forms.RegexField(
        r"^[A-Za-z0-9_-]{8,64}$", error_messages={"invalid": gettext_lazy("Load the page again and send it once more.")}
    )

    def clean_text(self) -> str:
        """The message without empty lines at its ends. Raises ValidationError when nothing is left."""
        text: str = self.cleaned_data["text"].replace("\r\n", "\n")
        if not text.strip():
            raise forms.ValidationError(self.fields["text"].error_messages["required"], "required")
        return text.strip("\n").rstrip()


class NewChatForm(SayForm):
    """The first message of a new session. Only projects whose main model can be asked are offered."""

    project = forms.ModelChoiceField(
        label=gettext_lazy("Project"),
        queryset=Project.objects.none(),
        to_field_name="slug",
        empty_label=None,
        error_messages={"invalid_choice": gettext_lazy("You can't talk in this project.")},
    )

    def __init__(self, data: Any, *, projects: QuerySet[Project], asked: str = "") -> None:
        super().__init__(data, initial={"project": asked, "client_id": new_client_id()})
        found = list(projects.order_by("name"))
        self.ready = [project for project in found if is_reachable(project)]
        self.without_model = [project for project in found if not is_reachable(project)]
        ids = [project.pk for project in self.ready]
        self.fields["project"].queryset = projects.filter(pk__in=ids).order_by("name")  # type: ignore[attr-defined]

    def title(self) -> str:
        """A title for the session: the beginning of what was said."""
        first_line: str = self.cleaned_data["text"].strip().split("\n", 1)[0].strip()
        return first_line if len(first_line) <= LONGEST_TITLE_CHARS else f"{first_line[: LONGEST_TITLE_CHARS - 1]}…"


def new_client_id() -> str:
    """An id for one sending."""
    return secrets.token_urlsafe(18)
