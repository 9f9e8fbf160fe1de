"""Consumers to look into, each of an app with our Transport."""

import asyncio

import faust

from agents.transport.consumer import Transport


class _App(faust.App):
    def _new_transport(self):
        return Transport(self.conf.broker_consumer, self)


def consumer_of(topic, server="127.0.0.1:9"):
    """The consumer of an app whose agents read this topic. It is not started, so that it needs no event loop of its own."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        app = _App("app", broker=f"kafka://{server}", web_enabled=False)
        app.topics._acking_topics.add(topic)
        app.consumer._thread.thread_loop.close()
        return app.consumer
    finally:
        asyncio.set_event_loop(None)
        loop.close()
