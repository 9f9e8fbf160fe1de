"""Print the headline and the first stories of each new event: `python consume.py broker:9092`. Needs aiokafka."""

import asyncio
import json
import sys

from aiokafka import AIOKafkaConsumer


async def consume(broker: str, topic: str) -> None:
    """Follow the topic until Ctrl-C."""
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=broker,
        group_id="example-python",
        isolation_level="read_committed",  # each update exactly once, whatever happens to workers
        auto_offset_reset="earliest",
    )
    async with consumer:
        async for message in consumer:
            event = json.loads(message.value)
            if event["state"] == "started":
                print(event["headline"], [story["url"] for story in event["stories"][:3]], flush=True)


asyncio.run(consume(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "newsburst.events"))
