"""Answers to requests: access, form, page value, render; nothing else happens here."""
