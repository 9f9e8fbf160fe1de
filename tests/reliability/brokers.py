"""Three brokers with replicas, as a careful operator has them: one may be lost for good."""

from pipeline.embedded.kafka import PLAIN, launch, wait_for_answer
from pipeline.embedded.ports import free_ports
from tests.reliability.system import kill

REPLICATED = """\
node.id={node}
controller.quorum.voters={voters}
min.insync.replicas=2
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
transaction.state.log.num.partitions=4
"""
NODES = (1, 2, 3)


class Brokers:
    """Three of them, with `start`, `stop` and `bootstrap` like an embedded one."""

    def __init__(self, folder):
        self.folder, self._services = folder, {}

    def start(self):
        """Start all three."""
        ports = free_ports(6)
        self.ports, controllers = dict(zip(NODES, ports[:3], strict=True)), dict(zip(NODES, ports[3:], strict=True))
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self.ports.values())
        voters = ",".join(f"{node}@127.0.0.1:{controllers[node]}" for node in NODES)
        for node in NODES:
            properties = (REPLICATED + PLAIN).format(
                node=node, voters=voters, port=self.ports[node], controller=controllers[node]
            )
            self._services[node] = launch(self.folder / str(node), properties)
        for node in NODES:
            wait_for_answer(self._services[node], self.ports[node])

    def lose(self, node):
        """SIGKILL, for good."""
        kill(self._services.pop(node))

    def stop(self):
        """Stop those that are left."""
        while self._services:
            self._services.popitem()[1].stop()
