"""The local owner: the one person of a site that somebody runs for themselves."""

from django.contrib.auth.models import User

OWNER_NAME = "owner"


def ensure_local_owner() -> User:
    """The first active administrator, made without a password if there is none: a one-time link lets them in."""
    found = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if found is not None:
        return found
    return User.objects.create_superuser(free_name(), password=None)


def free_name() -> str:
    """`owner`, or with a number when somebody already has that name."""
    taken = set(User.objects.filter(username__startswith=OWNER_NAME).values_list("username", flat=True))
    numbered = (f"{OWNER_NAME}{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (OWNER_NAME, *numbered) if name not in taken)
