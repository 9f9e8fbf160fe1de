"""TLS to Postgres, on a server built with it: the embedded one is not, so that this needs one on the machine."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa

from pipeline.embedded.guard import Guarded
from pipeline.embedded.ports import free_ports
from pipeline.storage.engine import check
from pipeline.storage.migrate import current, migrate
from pipeline.storage.write import Writer
from tests.certificates import certificate
from tests.integration.helpers import wait_for
from tests.make import assignment

PROGRAMS = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
PASSWORD = "not to be seen"
pytestmark = [
    pytest.mark.skipif(PROGRAMS is None, reason="there is no Postgres with TLS in /usr/lib/postgresql"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate"),
]


@pytest.fixture(scope="module")
def server():
    """The port of a Postgres that takes nothing but TLS and a password, and the folder with its certificate."""
    user = "nobody" if os.geteuid() == 0 else None  # Postgres refuses to run as root
    with tempfile.TemporaryDirectory(prefix="newsburst-tls-") as name:
        folder = Path(name)
        made, key = certificate(folder, "server")
        certificate(folder, "other")
        (folder / "password").write_text(PASSWORD)
        for path in (folder, key, folder / "password"):
            path.chmod(0o700 if path is folder else 0o600)
            if user:
                os.chown(path, pwd.getpwnam(user).pw_uid, -1)
        data = folder / "data"
        subprocess.run(
            [PROGRAMS / "initdb", "-D", data, "-U", "desk", "-A", "scram-sha-256", f"--pwfile={folder / 'password'}"],
            check=True,
            capture_output=True,
            user=user,
            cwd=folder,
        )
        (data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256\n")
        port = free_ports(1)[0]
        options = {
            "ssl": "on",
            "ssl_cert_file": made,
            "ssl_key_file": key,
            "listen_addresses": "127.0.0.1",
            "port": port,
        }
        options["unix_socket_directories"] = ""
        command = [str(PROGRAMS / "postgres"), "-D", str(data)]
        for option, value in options.items():
            command += ["-c", f"{option}={value}"]
        service = Guarded(command, signal.SIGINT, folder / "postgres.log", user)
        try:
            uri = f"postgresql://desk:{PASSWORD}@127.0.0.1:{port}/postgres?sslmode=require".replace(" ", "%20")
            wait_for(lambda: not check(uri)())
            yield port, folder
        finally:
            service.stop()


@pytest.fixture
def uri(server, tmp_path, monkeypatch):
    """The URI of docs/security.md: the server's name is verified, the password is in a file."""
    port, folder = server
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"127.0.0.1:{port}:*:desk:{PASSWORD}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    return f"postgresql://desk@127.0.0.1:{port}/postgres?sslmode=verify-full&sslrootcert={folder / 'server.crt'}"


def test_the_schema_is_made_and_stories_are_written_over_tls(uri):
    migrate(uri)
    assert current(uri)
    writer = Writer(uri)
    writer.write([assignment(1, "ca", "s1")])
    with writer.engine.connect() as connection:
        encrypted = sa.text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        assert connection.execute(encrypted).scalar_one() is True
        assert connection.execute(sa.text("SELECT count(*) FROM news.stories")).scalar_one() == 1
    writer.close()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("server.crt", "other.crt", "certificate verify failed"),
        ("sslmode=verify-full", "sslmode=disable", "no pg_hba.conf entry"),
    ],
)
def test_what_is_not_trusted_or_not_encrypted_is_refused_without_the_password(uri, old, new, why):
    wrong = check(uri.replace(old, new))()
    assert why in wrong
    assert PASSWORD not in wrong
