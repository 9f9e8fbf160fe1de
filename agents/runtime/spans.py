"""Spans: what stages note of the records that are traced. Without traces, which are an extra, they note nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from aiokafka.structs import ConsumerRecord

from agents.runtime.producer import Messages
from pipeline.config import Settings, SettingsError

if TYPE_CHECKING:
    from agents.runtime.traces import Traces


class Spans(Protocol):
    """The spans of a batch."""

    def begin(self, record: ConsumerRecord) -> Any:
        """The span of a record; None if it is not traced."""

    def done(self, span: Any, messages: Messages, outcome: str) -> Messages:
        """Note what became of the record; returns the messages that follow from it, with the header of its span."""

    def failed(self, span: Any, error: Exception) -> None:
        """Note that the stage cannot work on the record."""


class _NoSpans:
    def begin(self, record: ConsumerRecord) -> None:
        pass

    def done(self, span: Any, messages: Messages, outcome: str) -> Messages:  # noqa: ARG002 - as Spans
        return messages

    def failed(self, span: Any, error: Exception) -> None:
        pass


NO_SPANS: Spans = _NoSpans()


@contextmanager
def traced(traces: Traces | None, stage: str) -> Iterator[Spans]:
    """The spans of a batch of a stage, which end when the batch does; with its error, if it fails."""
    if traces is None:
        yield NO_SPANS
        return
    spans = traces.batch(stage)
    try:
        yield spans
    except BaseException as error:
        spans.end(error)
        raise
    spans.end()


def create_traces(settings: Settings) -> Traces | None:
    """What makes spans, if the settings ask for it. Raises SettingsError if the extra is not installed."""
    if not settings.traces:
        return None
    try:
        from agents.runtime.traces import Traces  # noqa: PLC0415 - it imports what only the extra has
    except ImportError:
        raise SettingsError(
            "NEWSBURST_TRACES=true: OpenTelemetry is not installed. Install the extra `traces`, or set NEWSBURST_TRACES=false."
        ) from None
    try:
        return Traces(settings)
    except ValueError as error:
        raise SettingsError(f"NEWSBURST_TRACES=true: OpenTelemetry refuses a variable OTEL_...: {error}") from None
