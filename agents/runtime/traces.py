"""Traces: the path of single stories through the stages, as spans of OpenTelemetry. Needs the extra `traces`.

    stories  --normalise-->  normalised  --fingerprint-->  fingerprints  --cluster-->  assignments  --detect-->  events
       traceparent              traceparent                   traceparent                 traceparent           traceparent

A span of a stage begins when work on a record begins, and ends when its results are safe. It continues the trace that the
record's header `traceparent` names (https://www.w3.org/TR/trace-context), and what follows from the record carries it on. Where
spans go and how many are sampled is set by the variables OTEL_... of OpenTelemetry. What is not sampled has no header and costs
nothing; spans that the collector does not take in time are dropped. Attributes are those of
https://opentelemetry.io/docs/specs/semconv/messaging/kafka.
"""

import asyncio
import threading
from typing import Any

import structlog
from aiokafka.structs import ConsumerRecord
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from agents.runtime.producer import Message, Messages
from pipeline import __version__
from pipeline.config import Settings

log = structlog.get_logger()

HEADER, STATE_HEADER = "traceparent", "tracestate"
FLUSH_S = 3.0
"""Seconds that a worker which ends gives the collector to take its last spans."""
LONGEST_REASON = 500
"""Characters of an error that a span keeps."""


class Traces:
    """Makes spans, and sends them to the collector."""

    def __init__(self, settings: Settings, provider: TracerProvider | None = None) -> None:
        self._provider = provider or _to_collector()
        self.tracer = self._provider.get_tracer("newsburst", __version__)
        self.propagator = TraceContextTextMapPropagator()
        self.group = settings.topic_prefix
        self.first = {settings.topic(name) for name in ("stories", "amendments")}
        """topics whose records begin a trace, if none has begun"""
        self.carried = {settings.topic(name) for name in ("normalised", "fingerprints", "assignments", "events")}
        """topics whose records carry a trace on"""

    def batch(self, stage: str) -> "BatchSpans":
        """The spans of a batch of a stage."""
        return BatchSpans(self, stage)

    async def close(self) -> None:
        """Send what is left, if the collector takes it in time."""
        sending = threading.Thread(target=self._provider.shutdown, daemon=True)
        sending.start()
        await asyncio.to_thread(sending.join, FLUSH_S)
        if sending.is_alive():
            log.warning("the collector does not take the last spans; they are dropped", seconds=FLUSH_S)


class BatchSpans:
    """The spans of a batch."""

    def __init__(self, traces: Traces, stage: str) -> None:
        self._traces = traces
        self._stage = stage
        self._spans: dict[tuple[str, int, int], Span] = {}
        """by the place of their records; what is tried again keeps its span"""

    def begin(self, record: ConsumerRecord) -> Span | None:
        """The span of a record; None if it is not traced."""
        found = [(name, value) for name, value in record.headers if name in {HEADER, STATE_HEADER} and value]
        headers = {name: value.decode("latin-1") for name, value in found}
        if sum(name == HEADER for name, _ in found) > 1:  # no one knows which is meant
            headers.clear()
        if HEADER not in headers and record.topic not in self._traces.first:
            return None
        place = record.topic, record.partition, record.offset
        if place in self._spans:
            self._spans[place].add_event("tried again")
            return self._spans[place]
        attributes: dict[str, Any] = {
            "messaging.system": "kafka",
            "messaging.operation.name": "process",
            "messaging.operation.type": "process",
            "messaging.consumer.group.name": self._traces.group,
            "messaging.destination.name": record.topic,
            "messaging.destination.partition.id": str(record.partition),
            "messaging.kafka.offset": record.offset,
        }
        parent = self._traces.propagator.extract(headers)
        span = self._traces.tracer.start_span(self._stage, parent, SpanKind.CONSUMER, attributes)
        if not span.is_recording():
            return None
        self._spans[place] = span
        return span

    def done(self, span: Span, messages: Messages, outcome: str) -> Messages:
        """Note what became of the record; returns the messages that follow from it, with the header of its span."""
        span.set_attribute("newsburst.outcome", outcome)
        headers: dict[str, str] = {}
        self._traces.propagator.inject(headers, set_span_in_context(span))
        added = [(name, value.encode("latin-1")) for name, value in headers.items()]
        return [
            message._replace(headers=[*message.headers, *added]) if self._carries(message) else message
            for message in messages
        ]

    def failed(self, span: Span, error: Exception) -> None:
        """Note that the stage cannot work on the record."""
        span.set_attribute("newsburst.outcome", "dead")
        span.set_status(StatusCode.ERROR, str(error)[:LONGEST_REASON])

    def end(self, error: BaseException | None = None) -> None:
        """End them all: what they are of is safe, or has failed with this error."""
        for span in self._spans.values():
            if error is not None:
                span.set_status(StatusCode.ERROR, repr(error)[:LONGEST_REASON])
            span.end()

    def _carries(self, message: Message) -> bool:
        return message.topic in self._traces.carried and message.value is not None


def _to_collector() -> TracerProvider:
    """What sends spans where the variables of OpenTelemetry say, under the name that they give or ours."""
    ours = Resource.create({"service.name": "newsburst", "service.version": __version__})
    provider = TracerProvider(resource=ours.merge(OTELResourceDetector().detect()), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
