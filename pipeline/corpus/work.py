"""The folder of a run: what is done is kept there piece by piece, so that a run that was ended goes on where it was.

A piece is a file that is written under another name, flushed to the disk, and renamed: it is there whole, or not at all.
"""

import errno
import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

PLAN, LOCK = "plan.json", "lock"


class CorpusError(RuntimeError):
    """A run cannot be made, or go on; the message says why and what to do."""


class Work:
    """A folder with the pieces of one run, which is described by its plan."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        """Where a piece is, or will be."""
        return self.folder / name

    def done(self, name: str) -> bool:
        """Whether a piece is there."""
        return self.path(name).exists()

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """A file that becomes the piece of this name once it is written."""
        with whole_file(self.path(name), f".{os.getpid()}.part") as file:
            yield file

    def save(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep arrays as a piece."""
        with self.writing(name) as file:
            np.savez(file, allow_pickle=False, **arrays)

    def load(self, name: str, *arrays: str) -> dict[str, NDArray[Any]]:
        """The arrays of a piece with these names, or all."""
        with np.load(self.path(name), allow_pickle=False) as piece:
            return {array: piece[array] for array in arrays or piece}

    def new(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array on the disk that is to be filled. It is no piece by itself: another one must say that it is complete."""
        path = self.path(f"{name}.npy")
        if 0 in shape:  # which cannot be mapped
            np.save(path, np.empty(shape, dtype))
            return np.empty(shape, dtype)
        made: NDArray[Any] = np.lib.format.open_memmap(path, "w+", dtype, shape)
        with path.open("r+b") as file:  # to write where the disk has no room would end the process
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        return made

    def keep(self, name: str, array: NDArray[Any]) -> None:
        """Keep an array as a piece that `open` reads."""
        with self.writing(f"{name}.npy") as file:
            np.save(file, array)

    def open(self, name: str) -> NDArray[Any]:
        """An array on the disk, to be read: mapped, unless it is empty."""
        path = self.path(f"{name}.npy")
        try:
            found: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except ValueError:
            found = np.load(path, allow_pickle=False)
        return found

    def clear(self) -> None:
        """Delete all pieces, and the folder if nothing else is in it."""
        for pattern in ("*.npy", "*.npz", "*.json", "*.part", LOCK):
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()


@contextmanager
def working(folder: Path, plan: Mapping[str, Any]) -> Iterator[Work]:
    """The work of a run with this plan, begun or gone on with. Nobody else works in the folder meanwhile.

    Raises CorpusError if it holds another run, is in use, or the disk is full.
    """
    with told(folder):
        folder.mkdir(exist_ok=True)
        if any(folder.iterdir()) and not (folder / PLAN).exists() and not (folder / LOCK).exists():
            raise CorpusError(f"{folder} holds other files. Name an empty folder with --work.")
        with (folder / LOCK).open("wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise CorpusError(
                    f"Another run works in {folder}. Wait for it, or name another folder with --work."
                ) from None
            for part in folder.glob("*.part"):  # a process of a killed run may be renaming its last
                part.unlink(missing_ok=True)
            work = Work(folder)
            described = msgspec.json.encode(plan, order="sorted")
            if not work.done(PLAN):
                with work.writing(PLAN) as file:
                    file.write(described)
            elif (was := work.path(PLAN).read_bytes()) != described:
                raise CorpusError(
                    f"{folder} holds the work of another run ({_differences(was, described)}). Delete it, or name another "
                    "folder with --work."
                )
            yield work


def _differences(was: bytes, now: bytes) -> str:
    before, after = msgspec.json.decode(was), msgspec.json.decode(now)
    names = sorted(name for name in before | after if before.get(name) != after.get(name))
    return ", ".join(f"{name} was {_short(before.get(name))}, is {_short(after.get(name))}" for name in names)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


@contextmanager
def told(folder: Path) -> Iterator[None]:
    """Say in one sentence what the system refuses. Raises CorpusError in the place of OSError."""
    try:
        yield
    except BrokenPipeError:  # who read our output has enough
        raise
    except OSError as error:
        where = error.filename or folder
        if error.errno not in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise CorpusError(f"{where}: {error.strerror or error}.") from None
        raise CorpusError(
            f"There is no room for {where}: {error.strerror}. Make room, and run the same command again: it goes on where it "
            "was. --work names a folder on another disk."
        ) from None


@contextmanager
def whole_file(path: Path, suffix: str = ".part") -> Iterator[IO[bytes]]:
    """A file that is there under its name once all of it is written, and under that with a suffix before.

    Of a link, the file is written to which it leads. Devices and pipes are written to as they are.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path = path.resolve()
    part = path.with_name(f"{path.name}{suffix}")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    part.replace(path)
