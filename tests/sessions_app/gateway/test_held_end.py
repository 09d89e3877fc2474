"""The end of a stream is held back wherever its bytes are cut, and nothing else is."""

import pytest

from sessions_app.gateway.held_end import HeldEnd

FRONT = b'data: {"text": "data: [DONE] is no end in here"}\n\ndata: {}\n\n'


@pytest.mark.parametrize("end", [b"data: [DONE]\n\n", b"data:[DONE]\r\n\r\n", b"data: [DONE]", b""])
def test_everything_but_the_end_is_passed_on_wherever_the_body_is_cut(end):
    body = FRONT + end
    for first in range(len(body)):
        for second in range(first, len(body), 7):
            held = HeldEnd()
            pieces = [held.pass_on(body[:first]), held.pass_on(body[first:second]), held.pass_on(body[second:])]
            assert b"".join(pieces) == FRONT, (first, second)
            assert held.rest() == end


def test_a_piece_that_cannot_become_the_end_is_passed_on_at_once():
    held = HeldEnd()
    assert held.pass_on(b'data: {"a"') == b'data: {"a"'
    assert held.pass_on(b": 1}\n\nda") == b": 1}\n\n"
    assert held.pass_on(b"ta: {}\n\n") == b"data: {}\n\n"
    assert held.pass_on(b"data: [DO") == b""
    assert held.pass_on(b'NUT]"\n\n') == b'data: [DONUT]"\n\n'
