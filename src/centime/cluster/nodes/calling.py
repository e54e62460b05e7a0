"""A call that runs in a thread of its own: to a machine that is frozen or gone, it takes seconds to fail."""

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Generic, Protocol, TypeVar


class Called(Protocol):
    """The result of a call."""

    def hang_up(self) -> None:
        """Ends the connection."""


C = TypeVar("C", bound=Called)


class Calling(Generic[C]):
    """One call; `connect` makes it, and raises what `result` is to raise."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._connection: C | None = None
        self._trouble: Exception | None = None
        self._given_up = False
        self._lock = Lock()
        self._done = Event()
        Thread(target=self._run, daemon=True).start()

    @property
    def is_done(self) -> bool:
        """Whether `result` returns at once."""
        return self._done.is_set()

    def wait(self, seconds: float) -> None:
        """Waits for the end of the call, at most this many seconds."""
        self._done.wait(seconds)

    def result(self) -> C:
        """The connection; raises an error if there is none."""
        self._done.wait()
        if self._connection is None:
            assert self._trouble is not None
            raise self._trouble
        return self._connection

    def give_up(self) -> None:
        """Closes the connection as soon as it is there: it is not needed any more."""
        with self._lock:
            self._given_up = True
            if self._connection is not None:
                self._connection.hang_up()

    def _run(self) -> None:
        try:
            connection = self._connect()
        except Exception as trouble:
            self._trouble = trouble
        else:
            with self._lock:
                self._connection = connection
                if self._given_up:
                    connection.hang_up()
        self._done.set()
