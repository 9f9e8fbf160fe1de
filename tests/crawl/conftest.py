"""A server of feeds on 127.0.0.1, well behaved and not."""

import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class FeedServer:
    """Answers paths as it is told to: `answers[path] = (status, headers, body)`, or a function of the request's headers."""

    def __init__(self):
        self.answers, self.asked = {}, []
        here = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                here.asked.append((self.path, dict(self.headers)))
                answer = here.answers.get(self.path, (404, {}, b""))
                status, headers, body = answer(self.headers) if callable(answer) else answer
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(body))} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                with suppress(OSError):  # it was cut off
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def paths(self):
        return [path for path, _ in self.asked]


@pytest.fixture
def feeds():
    made = FeedServer()
    yield made
    made.server.shutdown()
    made.server.server_close()
