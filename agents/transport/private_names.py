"""The private names of Faust and aiokafka that this project uses.

`agents.transport.consumer` and `pipeline.kafka.consumer` say what for.
"""

from aiokafka.consumer.fetcher import Fetcher, PartitionRecords
from aiokafka.consumer.group_coordinator import GroupCoordinator
from faust.app.base import App
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer

USED: dict[type, tuple[str, ...]] = {
    App: ("_create_directories", "_new_transport"),
    Consumer: (
        "_acked",
        "_acked_index",
        "_add_gap",
        "_commit",
        "_commit_offsets",
        "_committed_offset",
        "_get_active_partitions",
        "_getmany",
        "_n_acked",
        "_new_consumer_thread",
        "_read_offset",
        "_to_message",
        "_unacked_messages",
        "_wait_next_records",
        "_waiting_for_ack",
    ),
    AIOKafkaConsumerThread: ("_create_worker_consumer", "_ensure_consumer"),
    Fetcher: ("_proc_fetch_request",),
    PartitionRecords: ("_consumer_record",),
    GroupCoordinator: ("_do_commit_offsets",),
}


def missing() -> list[str]:
    """What the installed versions lack of these, one sentence each."""
    return [
        f"{cls.__module__}.{cls.__qualname__} has no {name} in this version; see agents/transport/private_names.py."
        for cls, names in USED.items()
        for name in names
        if not _has(cls, name)
    ]


def _has(cls: type, name: str) -> bool:
    """Whether a class has an attribute, or its instances do."""
    return any(
        name in vars(part)
        or name in vars(part).get("__annotations__", {})
        or name in getattr(vars(part).get("__init__"), "__code__", (lambda: None).__code__).co_names
        for part in cls.__mro__
    )
