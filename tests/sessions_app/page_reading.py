"""Pages as a person gets them, by the test client."""

from django.test import Client


def client_of(person, **options):
    """A browser of `person`; of nobody when None."""
    client = Client(**options)
    if person is not None:
        client.force_login(person)
    return client


def page(client, path, **headers):
    """The text of a page that must be there."""
    response = client.get(path, headers=headers)
    assert response.status_code == 200, (path, response.status_code)
    return response.content.decode()
