"""A program that asks the API, and what it sends."""

import json

from django.test import Client

PREFIX = "/api/v1"


class ApiClient:
    """Asks the API with one token, or with none."""

    def __init__(self, secret=None):
        self._http = Client(raise_request_exception=False)
        self.headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}

    def get(self, path, **query):
        return self._http.get(PREFIX + path, query, headers=self.headers)

    def send(self, path, body, method="POST"):
        text = body if isinstance(body, str | bytes) else json.dumps(body)
        return self._http.generic(method, PREFIX + path, text, "application/json", headers=self.headers)

    def ask(self, method, path, body=None):
        return self.get(path) if method == "GET" else self.send(path, "" if body is None else body, method)


def message(text, **more):
    return {"message": {"role": "user", "content": text}, **more}
