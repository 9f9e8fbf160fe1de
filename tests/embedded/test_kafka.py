"""The embedded broker keeps what it has said it has."""

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from pipeline.embedded.kafka import EmbeddedKafka
from pipeline.embedded.ports import free_ports
from tests.reliability.system import kill

KILLS = 3
TOPICS = ("rows", "words")


async def make_topics(kafka, number):
    """Topics for one round, as partitions."""
    names = [f"{topic}-{number}" for topic in TOPICS]
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(name=name, num_partitions=1, replication_factor=1) for name in names])
    await admin.close()
    return [TopicPartition(name, 0) for name in names]


async def commit_and_kill(kafka, partitions):
    """Have the broker killed at the moment that it says a transaction is committed."""
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id=partitions[0].topic)
    await producer.start()
    await producer.begin_transaction()
    sent = [await producer.send(partition.topic, b"told", partition=0) for partition in partitions]
    await asyncio.gather(*sent)
    await producer.commit_transaction()
    kill(kafka._service)
    await producer.stop()


async def committed(kafka, partition):
    """What readers of committed records read first of a partition."""
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap, isolation_level="read_committed")
    await consumer.start()
    consumer.assign([partition])
    await consumer.seek_to_beginning(partition)
    try:
        return (await asyncio.wait_for(consumer.getone(), 20)).value
    finally:
        await consumer.stop()


def test_a_committed_transaction_survives_the_broker_being_killed(tmp_path):
    kafka = EmbeddedKafka(tmp_path, free_ports(1)[0])
    try:
        kafka.start()
        for number in range(KILLS):
            partitions = asyncio.run(make_topics(kafka, number))
            asyncio.run(commit_and_kill(kafka, partitions))
            kafka.start()
            for partition in partitions:
                assert asyncio.run(committed(kafka, partition)) == b"told"
    finally:
        kafka.stop()
