import signal
import threading
from collections.abc import Iterator

import pytest

from centime.model.interrupt import uninterrupted


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Python's own handler of SIGINT during the test: a shell may have started the tests with Ctrl-C disabled."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_until_every_step_is_done() -> None:
    done: list[str] = []

    def steps() -> None:
        with uninterrupted():
            done.append("money")
            signal.raise_signal(signal.SIGINT)
            done.append("row")

    with pytest.raises(KeyboardInterrupt):
        steps()
    assert done == ["money", "row"]


def test_several_interrupts_are_delivered_as_one() -> None:
    delivered: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: delivered.append(number))
    with uninterrupted():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert delivered == []
    assert delivered == [signal.SIGINT]


def test_without_an_interrupt_the_handler_is_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with uninterrupted():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_a_process_that_ignores_interrupts_goes_on_ignoring_them() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with uninterrupted():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_failing_step_gives_the_handler_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), uninterrupted():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_are_never_interrupted_and_pass_through() -> None:
    done: list[str] = []

    def steps() -> None:
        with uninterrupted():
            done.append("money")

    thread = threading.Thread(target=steps)
    thread.start()
    thread.join()
    assert done == ["money"]
