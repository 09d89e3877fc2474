"""Addresses of logging in and out."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from hermes_site.login.views import login_once

urlpatterns = [
    path("login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("login/once/<str:token>", login_once, name="login_once"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
