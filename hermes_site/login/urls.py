"""Addresses of logging in and out."""

from django.urls import path

from hermes_site.login.invitations import invitation
from hermes_site.login.views import Logout, PasswordLogin, login_once

urlpatterns = [
    path("login/", PasswordLogin.as_view(), name="login"),
    path("login/once/<str:token>", login_once, name="login_once"),
    path("invitation/<str:token>", invitation, name="invitation"),
    path("logout/", Logout.as_view(), name="logout"),
]
