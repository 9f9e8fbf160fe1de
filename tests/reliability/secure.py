"""A broker with TLS, SCRAM and access lists, as a careful operator has it."""

import argparse
import asyncio
import re
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.helpers import create_ssl_context
from aiokafka.protocol.admin import CreateAclsRequest

from pipeline.embedded.kafka import ALONE, launch, wait_for_answer
from pipeline.embedded.ports import free_ports
from tests.certificates import certificate

DOCS = Path(__file__).parents[2] / "docs" / "security.md"
ROOT = "root"
RESOURCES = {"topic": 2, "group": 3, "cluster": 4, "transactional-id": 5}
PATTERNS = {"literal": 3, "prefixed": 4}
OPERATIONS = {"Read": 3, "Write": 4, "Create": 5, "Alter": 7, "Describe": 8, "DescribeConfigs": 10, "AlterConfigs": 11}
ALLOW = 3
"""As Kafka's protocol numbers them."""
PROPERTIES = """\
listeners=SASL_SSL://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=SASL_SSL://127.0.0.1:{port}
inter.broker.listener.name=SASL_SSL
listener.security.protocol.map=SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-512
sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \
username="root" password="{password}";
ssl.keystore.type=PEM
ssl.keystore.location={keystore}
ssl.truststore.type=PEM
ssl.truststore.location={ca}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:root;User:ANONYMOUS
"""


class SecureKafka:
    """Use it as a context. `users` have their name, reversed, as password."""

    def __init__(self, folder, users):
        self.folder, self.users = folder, [ROOT, *users]

    def __enter__(self):
        self.folder.mkdir(exist_ok=True)
        self.ca, key = certificate(self.folder, "server")
        keystore = self.folder / "keystore.pem"
        keystore.write_text(key.read_text() + self.ca.read_text())
        port, controller = free_ports(2)
        self.bootstrap = f"127.0.0.1:{port}"
        properties = (ALONE + PROPERTIES).format(
            port=port, controller=controller, password=ROOT[::-1], keystore=keystore, ca=self.ca
        )
        users = (f"--add-scram=SCRAM-SHA-512=[name={user},password={user[::-1]}]" for user in self.users)
        self._service = launch(self.folder, properties, *users)
        wait_for_answer(self._service, port)
        return self

    def __exit__(self, *_):
        self._service.stop()

    def allow(self, prefix):
        """Do what the commands in the docs do, for topics with this prefix."""
        rules = [rule for line in _commands() for rule in _rules(line.replace("newsburst", prefix))]
        assert len(rules) > 10
        asyncio.run(self._create(rules))

    async def _create(self, rules):
        context = create_ssl_context(cafile=self.ca)
        admin = AIOKafkaAdminClient(
            bootstrap_servers=self.bootstrap,
            security_protocol="SASL_SSL",
            ssl_context=context,
            sasl_mechanism="SCRAM-SHA-512",
            sasl_plain_username=ROOT,
            sasl_plain_password=ROOT[::-1],
        )
        await admin.start()
        for rule in rules:
            answer = await admin._send_to_controller(CreateAclsRequest(*rule))
            assert answer.creation_responses[0][0] == 0, answer
        await admin.close()


def _commands():
    return re.findall(r"^kafka-acls\.sh (.*)$", DOCS.read_text(), re.MULTILINE)


def _rules(line):
    """What a command of kafka-acls.sh adds, one rule an operation."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--add", action="store_true", required=True)
    parser.add_argument("--allow-principal", required=True)
    parser.add_argument("--operation", action="append", choices=OPERATIONS)
    parser.add_argument("--resource-pattern-type", choices=PATTERNS, default="literal")
    for resource in RESOURCES:
        parser.add_argument(f"--{resource}")
    asked = vars(parser.parse_args(line.split()))
    ((resource, name),) = [
        (resource, asked[resource.replace("-", "_")]) for resource in RESOURCES if asked[resource.replace("-", "_")]
    ]
    for operation in asked["operation"]:
        yield (
            RESOURCES[resource], name, PATTERNS[asked["resource_pattern_type"]], asked["allow_principal"], "*",
            OPERATIONS[operation], ALLOW,
        )  # fmt: skip
