"""Kafka and Postgres in containers, from the images that docker-compose.yml runs."""

import os
import re
import subprocess
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path

import docker
import yaml
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from pipeline.embedded.ports import free_ports

SERVICES = yaml.safe_load(Path(__file__).parents[1].joinpath("docker-compose.yml").read_text(encoding="utf-8"))[
    "services"
]


def image(service):
    """The image of a service of docker-compose.yml: that of its variable, else the one that stands there."""
    variable, otherwise = re.fullmatch(r"\$\{(\w+):-(.+)\}", SERVICES[service]["image"]).groups()
    return os.environ.get(variable) or otherwise


def docker_answers():
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def enter(stack: ExitStack, container):
    """What this container gives, which ends with the stack; None, with a warning, where it cannot be started."""
    if not docker_answers():
        return None
    try:
        return stack.enter_context(container())
    except docker.errors.DockerException as error:
        warnings.warn(f"No container for {container.__name__}; the embedded one is taken: {error}", stacklevel=2)
        return None


@contextmanager
def kafka():
    """A broker; its address."""
    (port,) = free_ports(1)
    settings = SERVICES["kafka"]["environment"] | {
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
        "KAFKA_ADVERTISED_LISTENERS": f"OUTSIDE://127.0.0.1:{port},INSIDE://localhost:29092",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": 0,
    }
    node = DockerContainer(image("kafka")).with_bind_ports(9092, port)
    node.with_envs(**{name: str(value) for name, value in settings.items()})
    with node.waiting_for(LogMessageWaitStrategy("Kafka Server started")):
        yield f"127.0.0.1:{port}"


@contextmanager
def postgres():
    """A database server; its URI."""
    node = DockerContainer(image("postgres")).with_exposed_ports(5432)
    node.with_envs(POSTGRES_USER="test", POSTGRES_PASSWORD="test", POSTGRES_DB="test")
    # Twice: the first start is the server's own, to make the database.
    with node.waiting_for(LogMessageWaitStrategy("database system is ready to accept connections", times=2)):
        yield f"postgresql://test:test@{node.get_container_host_ip()}:{node.get_exposed_port(5432)}/test"
