"""Certificates for servers that the tests start on this machine."""

import shutil
import subprocess


def certificate(folder, name):
    """A self-signed certificate for 127.0.0.1 and its key, as files in `folder`."""
    made, key = folder / f"{name}.crt", folder / f"{name}.key"
    subprocess.run(
        [
            shutil.which("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(made),
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return made, key
