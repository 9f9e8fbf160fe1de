"""The Faust app, made from settings: what the worker runs."""

from typing import Any

import faust
from mode import CrashingSupervisor

from agents import cluster, detect, fingerprint, normalise, store
from agents.faust_fixes import correct_faust
from pipeline.config import Settings
from pipeline.topics import LARGEST_MESSAGE


class App(faust.App):  # type: ignore[misc]
    """A Faust app whose messages are bytes to Faust: the records are ours to read."""

    raw: dict[str, Any]


def create_app(settings: Settings) -> App:
    """The app with its five agents and two tables."""
    app = App(
        settings.topic_prefix,
        version=1,
        broker=[f"kafka://{server.strip()}" for server in settings.kafka.split(",")],
        store="memory://",
        web_enabled=False,
        autodiscover=False,
        topic_allow_declare=False,  # topics are ours to make: with the right clean-up, before a worker starts
        topic_disable_leader=True,
        table_standby_replicas=0,
        stream_recovery_delay=0.0,
        stream_wait_empty=False,
        agent_supervisor=CrashingSupervisor,  # Faust would restart a failing agent for ever, in silence
        broker_commit_interval=1.0,
        broker_session_timeout=10.0,  # how long the partitions of a killed worker wait for another
        broker_heartbeat_interval=3.0,
        consumer_auto_offset_reset="earliest",
        producer_acks=-1,
        producer_linger_ms=2,
        producer_max_request_size=int(LARGEST_MESSAGE),
    )
    app.raw = {"key_type": bytes, "key_serializer": "raw", "value_type": bytes, "value_serializer": "raw"}
    correct_faust(app)
    for stage in (normalise, fingerprint, cluster, detect, store):
        stage.declare(app, settings)
    return app
