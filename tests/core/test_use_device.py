"""``use_device``: a choice for the process, and choices for blocks that no other thread or task sees."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

import gpuprims
from gpuprims import use_device
from gpuprims.backends.reference.device import ReferenceDriver
from gpuprims.core import default_device as chosen
from gpuprims.core import device as device_module

DEFAULT = gpuprims.Device._of(ReferenceDriver())
ONE, TWO, THREE = (gpuprims.Device._of(ReferenceDriver()) for _ in range(3))


def now() -> gpuprims.Device:
    """The device of a call that names none."""
    return device_module.pick_device(None, None)


def elsewhere() -> gpuprims.Device:
    """The device of such a call in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(now).result()


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing chosen, and a device that would be found."""
    monkeypatch.delenv("GPUPRIMS_DEVICE", raising=False)
    monkeypatch.setattr(device_module, "DEFAULT", device_module.Default(device_module._first_working))
    device_module.DEFAULT._found = DEFAULT


@pytest.fixture
def eager() -> Iterator[None]:
    """Threads that take turns after every few steps of the interpreter."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_a_plain_call_chooses_for_every_thread() -> None:
    use_device(ONE)
    assert now() is ONE
    assert elsewhere() is ONE
    use_device(None)
    assert now() is elsewhere() is DEFAULT


def test_a_plain_call_of_another_thread_chooses_here_too() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(use_device, TWO).result()
    assert now() is TWO


def test_no_other_thread_sees_the_choice_of_a_block() -> None:
    use_device(ONE)
    with use_device(TWO):
        assert now() is TWO
        assert elsewhere() is ONE
    assert now() is ONE


def test_a_plain_call_in_a_block_holds_until_the_block_ends() -> None:
    with use_device(ONE):
        use_device(TWO)
        assert now() is TWO
        assert elsewhere() is DEFAULT
        with use_device(THREE):
            assert now() is THREE
        assert now() is TWO
    assert now() is elsewhere() is DEFAULT


def test_blocks_that_overlap_leave_nothing_behind() -> None:
    first, second = use_device(ONE), use_device(TWO)
    first.__enter__()
    second.__enter__()
    first.__exit__()
    assert now() is TWO
    second.__exit__()
    assert now() is elsewhere() is DEFAULT


def test_blocks_of_a_stack_and_blocks_entered_twice() -> None:
    again = use_device(ONE)
    with ExitStack() as stack:
        assert stack.enter_context(use_device(TWO)) is TWO
        with again, again:
            assert now() is ONE
        assert now() is TWO
        with again:
            assert now() is ONE
    assert now() is DEFAULT


def test_a_block_that_ends_in_another_context_changes_nothing_there() -> None:
    block = use_device(ONE)
    block.__enter__()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(block.__exit__).result()
    assert now() is ONE
    block.__exit__()
    assert now() is DEFAULT


def test_a_choice_that_is_kept_holds_until_a_block_takes_it_back() -> None:
    kept = use_device(ONE)
    assert now() is elsewhere() is ONE
    with kept:
        assert elsewhere() is DEFAULT
    assert now() is DEFAULT


def test_an_open_choice_is_not_seen_elsewhere_before_its_block_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The moment between ``use_device(x)`` and ``with``, held open."""
    monkeypatch.setattr(chosen, "_PATIENCE", 30.0)
    block = use_device(ONE)
    with ThreadPoolExecutor(1) as pool:
        seen = pool.submit(now)
        time.sleep(0.05)
        assert not seen.done()
        with block:
            assert seen.result() is DEFAULT


def test_an_open_choice_that_stays_open_becomes_the_processs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen, "_PATIENCE", 0.01)
    kept = use_device(ONE)
    assert elsewhere() is ONE
    del kept
    assert elsewhere() is ONE


def test_choices_do_not_pile_up() -> None:
    for _ in range(100):
        use_device(ONE)
        with use_device(TWO):
            pass
    assert len(device_module.DEFAULT.choices) <= 2


def test_many_threads_each_have_their_own_choice(eager: None) -> None:
    devices = [ONE, TWO, THREE]
    wrong: list[object] = []
    start = threading.Barrier(6)

    def choose(k: int) -> None:
        start.wait()
        for turn in range(300):
            mine, other = devices[(k + turn) % 3], devices[(k + turn + 1) % 3]
            with use_device(mine):
                first = now()
                with use_device(other):
                    second = now()
                third = now()
            if (first, second, third, now()) != (mine, other, mine, DEFAULT):
                wrong.append((first, second, third))

    threads = [threading.Thread(target=choose, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert now() is DEFAULT


def test_asyncio_tasks_each_have_their_own_choice() -> None:
    async def choose(mine: gpuprims.Device) -> list[bool]:
        seen = []
        for _ in range(20):
            with use_device(mine):
                await asyncio.sleep(0)
                seen.append(now() is mine)
            await asyncio.sleep(0)
            seen.append(now() is DEFAULT)
        return seen

    async def together() -> list[list[bool]]:
        return await asyncio.gather(*(choose((ONE, TWO, THREE)[k % 3]) for k in range(10)))

    assert all(all(seen) for seen in asyncio.run(together()))


def test_a_task_has_the_choice_of_the_block_that_makes_it() -> None:
    async def ask() -> gpuprims.Device:
        return now()

    async def make() -> gpuprims.Device:
        with use_device(ONE):
            task = asyncio.create_task(ask())
        return await task

    assert asyncio.run(make()) is ONE
