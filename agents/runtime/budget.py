"""A budget of processor time: work that takes longer is interrupted, so that no story stops the others.

It is the time that the process computes, not the time of a clock: a worker that was frozen or waits has used none. What computes
in compiled code is interrupted when it returns.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STORY_S = 2.0
"""Seconds of the processor that a stage without state may take for a story."""


class TooSlow(Exception):
    """Some work used up its budget."""


@contextmanager
def budget(seconds: float) -> Iterator[Callable[[], None]]:
    """Raise TooSlow in work that takes more than so many seconds, at the latest after twice as many. For the main thread.

    To call what it gives begins the next piece of work, which has a budget of its own. It costs nothing: the timer runs on, and
    interrupts what it finds a second time.
    """
    at_work, found = 0, -1

    def begin_next() -> None:
        nonlocal at_work
        at_work += 1

    def look(*_: object) -> None:
        nonlocal found
        if found == at_work:
            raise TooSlow(f"It took more than {seconds:g} s of processor time")
        found = at_work

    before = signal.signal(signal.SIGVTALRM, look)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, seconds)
    try:
        yield begin_next
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
