"""Traces of a real worker: a collector gets the whole path of a story, from the producer's span to Postgres."""

import asyncio
import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from aiokafka import AIOKafkaProducer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from pipeline.kafka.connection import connection
from tests.integration.helpers import prepare, read, wait_for, worker

TRACE, PRODUCER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
STORIES = [
    b'{"url": "https://e.com/%d", "title": "Ferry sinks", "publisher": "Paper %d", "crawled_at": "2024-05-01T12:0%d:00Z"}'
    % (number, number, number)
    for number in range(2)
]


@pytest.fixture
def collector(monkeypatch):
    """Spans that a collector was given, as (name, id, parent), of the trace above."""
    spans = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                spans.extend(
                    (span.name, span.span_id.hex(), span.parent_span_id.hex())
                    for scope in resource.scope_spans
                    for span in scope.spans
                    if span.trace_id.hex() == TRACE
                )
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield spans
    server.shutdown()
    server.server_close()


async def send(settings):
    """Send the stories; the second is part of a trace that its producer began."""
    producer = AIOKafkaProducer(**connection(settings))
    await producer.start()
    headers = [[], [("traceparent", f"00-{TRACE}-{PRODUCER}-01".encode())]]
    for story, said in zip(STORIES, headers, strict=True):
        await producer.send_and_wait(settings.topic("stories"), story, key=b"en", headers=said)
    await producer.stop()


def test_the_path_of_a_story_is_one_trace(settings, reader, collector, tmp_path):
    prepare(settings)
    traced = settings.model_copy(update={"traces": True, "threshold": 1, "min_publishers": 1})
    with worker(traced, tmp_path / "worker.log"):
        asyncio.run(send(settings))
        wait_for(lambda: reader.count("events"))
    spans = {name: (own, parent) for name, own, parent in collector if name != "store"}
    assert spans.keys() == {"normalise", "fingerprint", "cluster", "detect"}
    chain = [PRODUCER, *(spans[name][0] for name in ("normalise", "fingerprint", "cluster", "detect"))]
    assert [spans[name][1] for name in ("normalise", "fingerprint", "cluster", "detect")] == chain[:-1]
    assert sorted(parent for name, _, parent in collector if name == "store") == sorted(chain[3:])
    (event,) = read(settings, "events")
    assert dict(event.headers)["traceparent"] == f"00-{TRACE}-{chain[-1]}-01".encode()
