"""Kernels: functions over arrays that numba compiles, if it is installed (the extra `fast`), and Python runs if not.

There is one source for both, so that both give equal results: kernels use no arithmetic that wraps around, and no random order.
Compiled, they are a hundred times faster.

A kernel that works on many arrays and numbers takes them as one argument, a *handle*: passing 48 values one by one costs 6.4 us,
passing them in a handle 1 us. Kernels read and assign the attributes of a handle as those of any object, so that arrays can grow
inside a kernel. Compiled, a handle is a numba `structref`
(https://numba.readthedocs.io/en/stable/extending/high-level.html#implementing-mutable-structures); else it is the class itself.
"""

import sys
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

try:
    import numba
    from numba.core import types
    from numba.experimental import structref
except ImportError:  # pragma: no cover - the other way is tested by running kernels uncompiled
    numba = None  # type: ignore[assignment]

COMPILED = numba is not None
"""Whether kernels are compiled."""
SOURCES = ("similarity", "stages", "times.py")
"""Where in the package `pipeline` kernels are, and the constants that are compiled into them."""


@cache
def salt() -> str:
    """A hash of all sources that are compiled. numba looks at a kernel's own file, but not at those of the kernels it calls."""
    root = Path(__file__).parent.parent
    files = [
        file for name in SOURCES for file in ([root / name] if name.endswith(".py") else (root / name).rglob("*.py"))
    ]
    digest = blake2b(digest_size=6)
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function over arrays if numba is installed; as `py_func` it can still be run by Python.

    What is compiled is cached on disk, under a name that holds `salt`: a kernel of another version is never run.
    """
    return _compiled(function, nogil=False)


def unlocked_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that lets other threads run meanwhile (https://numba.readthedocs.io/en/stable/user/jit.html#nogil).

    Nobody else may change the arrays that it is given.
    """
    return _compiled(function, nogil=True)


def _compiled(function: Callable[P, R], *, nogil: bool) -> Callable[P, R]:
    if numba is None:
        return function
    name = function.__qualname__
    function.__qualname__ = f"{name}-{salt()}"  # numba names the file in its cache by it
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, nogil=nogil)(function)
    finally:
        function.__qualname__ = name
    return compiled


def handle(cls: type[T]) -> type[T]:
    """Make a dataclass with slots a handle, which kernels can make and change; Python can still use it as `__wrapped__`.

    Outside kernels the attributes of a handle can only be read, and slowly: that is for tests.
    """
    if numba is None:
        return cls
    fields = tuple(cls.__annotations__)
    kind: Any = type(
        f"{cls.__name__}Type", (types.StructRef,), {"__module__": cls.__module__, "preprocess_fields": _unliteral}
    )
    setattr(sys.modules[cls.__module__], kind.__name__, kind)  # numba's cache finds it by its name
    structref.register(kind)  # type: ignore[no-untyped-call]
    members = {"__doc__": cls.__doc__, "__module__": cls.__module__, "__slots__": (), "__wrapped__": cls}
    proxy: Any = type(cls.__name__, (structref.StructRefProxy,), members | {name: _reader(name) for name in fields})
    structref.define_proxy(proxy, kind, fields)  # type: ignore[no-untyped-call]
    made: type[T] = proxy
    return made


def _unliteral(_: Any, fields: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, types.unliteral(of)) for name, of in fields)  # type: ignore[no-untyped-call]


def _reader(name: str) -> property:
    compiled: list[Callable[[Any], Any]] = []

    def read(self: Any) -> Any:
        if not compiled:
            compiled.append(numba.njit(lambda handle: getattr(handle, name)))  # noqa: B009, RUF100
        return compiled[0](self)

    return property(read)
