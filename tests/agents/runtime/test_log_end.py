"""The end of the log: asked for by several partitions at once, on one connection."""

import asyncio

from agents.runtime import log_end
from agents.runtime.log_end import LogEnd
from pipeline.kafka.admin import create_topics


def test_those_who_ask_at_once_share_one_connection(kafka_settings, monkeypatch):
    made = []

    class Counted(log_end.Consumer):
        def __init__(self, **options):
            super().__init__(**options)
            made.append(self)

    monkeypatch.setattr(log_end, "Consumer", Counted)

    async def ask():
        await create_topics(kafka_settings)
        end = LogEnd(kafka_settings)
        try:
            return await asyncio.gather(*(end.of(number % kafka_settings.partitions) for number in range(6)))
        finally:
            await end.close()

    assert asyncio.run(ask()) == [0] * 6
    assert len(made) == 1
