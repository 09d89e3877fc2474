"""The channel layer of a process: everybody in a group is told, nobody can make it hold more than a few messages."""

import asyncio

import pytest

from sessions_app.fan_out import RESYNC, ProcessLayer


def play(scene, **options):
    """Run `scene(layer, first, second)`: two channels, both in the group "all"."""

    async def played():
        layer = ProcessLayer(**options)
        first, second = await layer.new_channel(), await layer.new_channel()
        for channel in (first, second):
            await layer.group_add("all", channel)
        return await asyncio.wait_for(scene(layer, first, second), 5)

    return asyncio.run(played())


def numbered(number):
    return {"type": "session.notice", "seq": number}


def test_a_group_is_told_in_order_and_each_member_gets_everything():
    async def scene(layer, first, second):
        for number in range(5):
            await layer.group_send("all", numbered(number))
        for channel in (first, second):
            assert [(await layer.receive(channel))["seq"] for _ in range(5)] == [0, 1, 2, 3, 4]

    play(scene)


def test_a_channel_that_waits_is_woken_and_one_that_left_hears_nothing_more():
    async def scene(layer, first, second):
        waiting = asyncio.create_task(layer.receive(first))
        await asyncio.sleep(0)
        await layer.group_discard("all", second)
        await layer.group_send("all", numbered(1))
        assert await waiting == numbered(1)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(layer.receive(second), 0.05)

    play(scene)


def test_who_does_not_read_gets_one_resync_instead_of_what_it_could_not_take_and_then_what_follows():
    async def scene(layer, slow, quick):
        for number in range(1_000):
            await layer.group_send("all", numbered(number))
            assert (await layer.receive(quick))["seq"] == number
        held = [await layer.receive(slow)]
        while held[-1].get("seq") != 999:
            held.append(await layer.receive(slow))
        assert held[0] == {"type": RESYNC}
        assert [one["seq"] for one in held[1:]] == list(range(1_000 - len(held) + 1, 1_000))
        assert len(held) <= 10

    play(scene, capacity=10)


def test_nothing_is_kept_for_channels_that_are_gone():
    async def scene(layer, first, second):
        await layer.group_send("all", numbered(1))
        await layer.receive(first)
        for channel in (first, second):
            await layer.group_discard("all", channel)
        # One that was never let in: it only waited.
        stranger = asyncio.create_task(layer.receive(await layer.new_channel()))
        await asyncio.sleep(0)
        stranger.cancel()
        await asyncio.gather(stranger, return_exceptions=True)
        return vars(layer)["_buffers"], vars(layer)["_groups"]

    assert play(scene) == ({}, {})
