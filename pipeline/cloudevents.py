"""CloudEvents: headers that say of a message what it is, in the binary mode of the Kafka binding.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/kafka-protocol-binding.md
"""

from pipeline.records import EventUpdate

Headers = list[tuple[str, bytes]]


def cloudevents(update: EventUpdate, prefix: str) -> Headers:
    """The headers of an event update; `prefix` is that of the topics."""
    return [
        ("ce_specversion", b"1.0"),
        ("ce_id", f"{update.event_id}:{update.sequence}".encode()),
        ("ce_source", f"/{prefix}/{update.edition}".encode()),
        ("ce_type", f"newsburst.event.{update.state}".encode()),
        ("ce_subject", update.event_id.encode()),
        ("ce_time", update.at.isoformat().replace("+00:00", "Z").encode()),
        ("content-type", b"application/json"),
    ]
