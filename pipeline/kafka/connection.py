"""How every client of ours connects to Kafka: the same address, TLS and login, from the settings."""

import ssl
from typing import Any

from aiokafka.helpers import create_ssl_context

from pipeline.config import Settings, SettingsError


def connection(settings: Settings) -> dict[str, Any]:
    """The arguments of an aiokafka client. Raises SettingsError for files that cannot be read."""
    arguments: dict[str, Any] = {"bootstrap_servers": settings.kafka, "security_protocol": settings.kafka_security}
    if settings.kafka_security.endswith("SSL"):
        arguments["ssl_context"] = tls(settings)
    if settings.kafka_security.startswith("SASL"):
        arguments["sasl_mechanism"] = settings.kafka_mechanism
        arguments["sasl_plain_username"] = settings.kafka_user
        arguments["sasl_plain_password"] = settings.secret()
    return arguments


def tls(settings: Settings) -> ssl.SSLContext:
    """TLS that trusts NEWSBURST_KAFKA_CA, or else what the system trusts, and shows NEWSBURST_KAFKA_CERTIFICATE if it is set."""
    for name in ("kafka_ca", "kafka_certificate", "kafka_key"):
        path = getattr(settings, name)
        if path is not None and not path.is_file():
            raise SettingsError(f"NEWSBURST_{name.upper()}={str(path)!r}: there is no such file.")
    try:
        context: ssl.SSLContext = create_ssl_context(
            cafile=settings.kafka_ca, certfile=settings.kafka_certificate, keyfile=settings.kafka_key
        )
    except ssl.SSLError as error:
        raise SettingsError(
            f"NEWSBURST_KAFKA_CA, _CERTIFICATE and _KEY must name PEM files that belong together: {error.reason}."
        ) from None
    return context
