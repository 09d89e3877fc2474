"""Messages as text for a summarizer: the cap, and what stands for a picture."""

import pytest

from compaction.messages import ImagePart, Message, Role
from compaction.serialise import bound, serialise


@pytest.mark.parametrize("length", [1_000, 1_001, 1_051, 9_999, 10_060, 1_000_000])
def test_a_bounded_text_never_exceeds_its_cap_and_says_how_much_is_missing(length):
    text = "a" * (length // 2) + "b" * (length - length // 2)
    bounded = bound(text, 1_000)
    assert len(bounded) <= 1_000
    assert length == 1_000 or f"[... {length - bounded_kept(bounded):,} characters" in bounded
    assert bounded[0] == "a" and bounded[-1] == "b"


def bounded_kept(bounded):
    head, _, rest = bounded.partition("\n[...")
    return len(head) + len(rest.partition("...]\n")[2])


def test_a_picture_with_an_address_of_its_own_is_named_by_it():
    parts = (
        ImagePart('{"type": "image", "url": "http://e.x/b"}'),
        ImagePart('{"type": "image_url", "image_url": {"url": "https://e.x/a.png"}}'),
        ImagePart('{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}'),
    )
    assert serialise([Message(Role.USER, parts)]) == "[USER]: [image: http://e.x/b]\n[image: https://e.x/a.png]\n[image]"
