"""A budget of processor time: work that takes longer is interrupted, so that no story stops the others.

It is the time that the process computes, not the time of a clock: a worker that was frozen or waits has used none. What computes
in compiled code is interrupted when it returns.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STORY = 2.0
"""Seconds of the processor that a stage without state may take for a story."""


class TooSlow(Exception):
    """Some work used up its budget."""


@contextmanager
def budget(seconds: float) -> Iterator[Callable[[], None]]:
    """Raise TooSlow in what takes longer than so many seconds; to call what it gives begins them again. For the main thread."""

    def begin_again() -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)

    def interrupt(*_: object) -> None:
        raise TooSlow(f"It took more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, interrupt)
    try:
        begin_again()
        yield begin_again
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
