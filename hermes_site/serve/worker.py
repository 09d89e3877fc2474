"""The worker process: takes jobs from the database's queue. Run by `serve` as `python -m hermes_site.serve.worker`."""

import asyncio
import os

import django
from procrastinate import App

from hermes_site.serve.parent_watch import end_with_parent


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_site.settings")
    end_with_parent()
    django.setup()
    from procrastinate.contrib.django import app

    with app.replace_connector(app.connector.get_worker_connector()) as worker_app:  # type: ignore[attr-defined]
        asyncio.run(work(worker_app))


async def work(app: App) -> None:
    async with app.open_async():
        await app.run_worker_async()


if __name__ == "__main__":
    main()
