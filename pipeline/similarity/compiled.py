"""Kernels: functions over arrays that numba compiles, if it is installed (the extra `fast`), and Python runs if not.

One source, so that both give equal results: kernels use no arithmetic that wraps around, and no random order. Compiled, they
are a hundred times faster.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

try:
    import numba
except ImportError:  # pragma: no cover - the other way is tested by running kernels uncompiled
    numba = None  # type: ignore[assignment]

COMPILED = numba is not None
"""Whether kernels are compiled."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function over arrays if numba is installed; as `py_func` it can still be run by Python."""
    if numba is None:
        return function
    compiled: Callable[P, R] = numba.njit(cache=True)(function)
    return compiled
