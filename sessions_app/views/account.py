"""A person's own account: name, password, logins."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.db import IntegrityError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_POST, require_safe

from sessions_app.access import may_administer, memberships_of
from sessions_app.origins import client_address, page_origin
from sessions_app.pages.audit import entries_about, read_audit
from sessions_app.pages.people import read_logins
from sessions_app.people_forms import AccountNameForm, AuditFilterForm, PasswordForm
from sessions_app.services.accounts import change_password, log_out_everywhere, rename_account
from sessions_app.services.login_attempts import forgive_attempts, spend_attempt
from sessions_app.views.page_request import PageRequest


@never_cache
@require_safe
def account(request: PageRequest) -> HttpResponse:
    """The page."""
    return show_account(request)


def show_account(request: PageRequest, **forms: Any) -> HttpResponse:
    """The page, with a form that may have mistakes in it."""
    form = AuditFilterForm(request.GET)
    context = {
        "section": "account",
        "name_form": AccountNameForm(initial={"username": request.user.username}),
        "password_form": PasswordForm(user=request.user),
        "memberships": memberships_of(request.user).select_related("project").order_by("project__name")[:100],
        "logins": read_logins(request.user),
        "own_key": request.session.session_key,
        "audit": read_audit(entries_about(request.user), "", "", form.said("before")),
        "is_administrator": may_administer(request.user),
        **forms,
    }
    has_mistakes = any(one.errors for one in forms.values())
    return render(request, "people/account.html", context, status=422 if has_mistakes else 200)


@never_cache
@require_POST
def account_name(request: PageRequest) -> HttpResponse:
    """Another name to log in with."""
    form = AccountNameForm(request.POST, user=request.user)
    if form.is_valid():
        try:
            rename_account(page_origin(request), request.user, form.cleaned_data["username"])
        except IntegrityError:
            form.add_error("username", gettext("This name is taken. Choose another."))
        else:
            messages.success(request, gettext("Your name is changed."))
            return redirect("account")
    request.user.refresh_from_db(fields=["username"])
    return show_account(request, name_form=form)


@sensitive_post_parameters("old", "password", "password_again")
@sensitive_variables()
@never_cache
@require_POST
def account_password(request: PageRequest) -> HttpResponse:
    """Another password. All other logins end; this one goes on under a new key."""
    form = PasswordForm(request.POST, user=request.user)
    name, address = request.user.username, client_address(request)
    if request.user.has_usable_password() and spend_attempt(name, address) is not None:
        form.add_error("old", gettext("There were too many attempts. Wait some minutes."))
    elif form.is_valid():
        forgive_attempts(name, address)
        change_password(
            page_origin(request), request.user, form.cleaned_data["password"], keep=request.session.session_key
        )
        update_session_auth_hash(request, request.user)
        messages.success(request, gettext("Your password is changed, and all your other logins have ended."))
        return redirect("account")
    return show_account(request, password_form=form)


@require_POST
def account_logins_end(request: PageRequest) -> HttpResponse:
    """Log out everywhere else."""
    ended = log_out_everywhere(page_origin(request), request.user, keep=request.session.session_key)
    words = ngettext("%(number)d other login has ended.", "%(number)d other logins have ended.", ended)
    messages.success(request, words % {"number": ended})
    return redirect("account")
