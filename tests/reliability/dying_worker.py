"""A worker that kills itself at a chosen moment, as if the power went: nothing is flushed, nothing said.

python dying_worker.py before|after MODULE CLASS METHOD COUNT: before or after the COUNT-th call of that method.
"""

import functools
import importlib
import inspect
import itertools
import os
import signal
import sys
from contextlib import contextmanager

from agents import worker


def let_die(when, owner, method, count):
    """Have the process end at the call with this number."""
    stock, calls = getattr(owner, method), itertools.count(1)

    def at(moment, call):
        if (moment, call) == (when, count):
            os.kill(os.getpid(), signal.SIGKILL)

    @contextmanager
    def called():
        call = next(calls)
        at("before", call)
        yield
        at("after", call)

    @functools.wraps(stock)
    async def dying_later(*args, **named):
        with called():
            return await stock(*args, **named)

    @functools.wraps(stock)
    def dying(*args, **named):
        with called():
            return stock(*args, **named)

    setattr(owner, method, dying_later if inspect.iscoroutinefunction(stock) else dying)


if __name__ == "__main__":
    when, module, owner, method, count = sys.argv[1:]
    let_die(when, getattr(importlib.import_module(module), owner), method, int(count))
    sys.argv[1:] = []
    worker.main()
