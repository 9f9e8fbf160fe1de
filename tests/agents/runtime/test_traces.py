"""Traces: what follows from a record goes on with its trace, and nothing else does."""

import sys
from dataclasses import replace

import pytest
from aiokafka.structs import ConsumerRecord
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased

from agents.runtime.dead_letters import work_through
from agents.runtime.producer import Message
from agents.runtime.spans import create_traces, traced
from agents.runtime.traces import HEADER, Traces
from pipeline.codec import InvalidRecord
from pipeline.config import Settings, SettingsError

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED, NOT_SAMPLED = (f"00-{TRACE}-{SPAN}-{flags}".encode() for flags in ("01", "00"))
SETTINGS = Settings(topic_prefix="news")


@pytest.fixture
def ended():
    """Keeps the spans that have ended."""
    return InMemorySpanExporter()


@pytest.fixture
def traces(ended):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(ended))
    return Traces(SETTINGS, provider)


def record(topic="news.fingerprints", offset=7, headers=((HEADER, SAMPLED),)):
    return ConsumerRecord(topic, 0, offset, 0, 0, None, b"{}", None, 0, 0, tuple(headers))


def follow(traces, *records, stage="cluster"):
    """Have a stage work on records, each of which brings a row, an assignment and a tombstone; returns these."""
    messages = []

    def work(of):
        if of.value is None:
            raise InvalidRecord("`url` is missing.")
        messages.extend(
            [
                Message("news-clustering-changelog", b"row", of.value),
                Message("news.assignments", b"key", of.value, headers=[("tick", b"")]),
                Message("news.assignments", b"gone", None),
            ]
        )
        return "done"

    with traced(traces, stage) as spans:
        work_through(stage, records, work, messages, 1.0, spans)
    return messages


def test_what_follows_from_a_record_goes_on_with_its_trace(traces, ended):
    row, assignment, tombstone = follow(traces, record())
    (span,) = ended.get_finished_spans()
    assert (span.name, f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == ("cluster", TRACE, SPAN)
    assert span.attributes["messaging.destination.name"] == "news.fingerprints"
    assert span.attributes["messaging.kafka.offset"] == 7
    assert span.attributes["newsburst.outcome"] == "done"
    assert assignment.headers == [("tick", b""), (HEADER, f"00-{TRACE}-{span.context.span_id:016x}-01".encode())]
    assert (row.headers, tombstone.headers) == ((), ())


def test_a_trace_begins_with_a_story_and_nowhere_else(traces, ended):
    follow(traces, record("news.stories", headers=()), record(headers=()), stage="normalise")
    (span,) = ended.get_finished_spans()
    assert span.parent is None
    assert span.attributes["messaging.destination.name"] == "news.stories"


@pytest.mark.parametrize(
    "said", [b"", b"\xff\xfe", b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01", b"00-" + b"a" * 10_000, None]
)
def test_a_header_that_names_no_trace_is_as_none(traces, ended, said):
    follow(traces, record("news.stories", headers=[(HEADER, said)]), stage="normalise")
    (span,) = ended.get_finished_spans()
    assert span.parent is None


def test_several_headers_name_no_trace(traces, ended):
    follow(traces, record("news.stories", headers=[(HEADER, SAMPLED), (HEADER, SAMPLED)]), stage="normalise")
    (span,) = ended.get_finished_spans()
    assert span.parent is None


def test_a_variable_of_opentelemetry_that_is_wrong_is_a_wrong_setting(monkeypatch):
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "0")
    with pytest.raises(SettingsError, match="refuses a variable OTEL_"):
        create_traces(Settings(traces=True))


def test_what_is_not_sampled_leaves_no_trace(traces, ended):
    _, assignment, _ = follow(traces, record(headers=[(HEADER, NOT_SAMPLED)]))
    assert assignment.headers == [("tick", b"")]
    never = Traces(SETTINGS, TracerProvider(sampler=ParentBased(ALWAYS_OFF)))
    assert follow(never, record("news.stories", headers=()))[1].headers == [("tick", b"")]
    assert not ended.get_finished_spans()


def test_without_traces_headers_stay_as_they_are():
    assert follow(None, record())[1].headers == [("tick", b"")]
    assert create_traces(SETTINGS) is None


def test_traces_without_opentelemetry_are_a_wrong_setting(monkeypatch):
    monkeypatch.setitem(sys.modules, "agents.runtime.traces", None)
    with pytest.raises(SettingsError, match="NEWSBURST_TRACES=true: OpenTelemetry is not installed"):
        create_traces(Settings(traces=True))


def test_what_a_stage_cannot_work_on_is_an_error_of_its_span(traces, ended):
    (letter,) = follow(traces, replace(record(), value=None))
    (span,) = ended.get_finished_spans()
    assert span.status.description == "`url` is missing."
    assert not span.status.is_ok
    assert (HEADER, SAMPLED) in letter.headers


def test_what_is_tried_again_is_one_span_which_ends_with_its_batch(traces, ended):
    def batch():
        with traced(traces, "detect") as spans:
            assert spans.begin(record()) is spans.begin(record())
            assert not ended.get_finished_spans()
            raise OSError("away")

    with pytest.raises(OSError, match="away"):
        batch()
    (span,) = ended.get_finished_spans()
    assert [event.name for event in span.events] == ["tried again"]
    assert not span.status.is_ok
