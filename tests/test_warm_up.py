"""All is compiled by the warm-up: a first correction by hand must not wait for a compiler, nor the first death of a cluster."""

import subprocess
import sys

from tests.sample import write

FOLLOWED = """
import gc, sys
from datetime import UTC, datetime
from numba.core.dispatcher import Dispatcher
from pipeline.config import Settings
from pipeline.files import read_stories
from pipeline.records import Amendment
from pipeline.replay import fingerprints, replay_log
from pipeline.warm_up import warm_up

def compiled():
    return {
        (kernel.py_func.__qualname__, signature)
        for kernel in gc.get_objects()
        if isinstance(kernel, Dispatcher) and kernel.py_func.__module__.startswith("pipeline")
        for signature in kernel.signatures
    }

def log():
    now = datetime(2014, 4, 1, tzinfo=UTC)
    stories = [line.story for line in read_stories(sys.argv[1], None, "en")]
    logged = [*fingerprints(stories, now)]
    yield from logged
    yield 5_000, Amendment(id="a", edition="en", action="split", by="ann", stories=[logged[-1][1].story.id], at=now)

settings = Settings(look_back_hours=6)
rules = settings.cluster_rule(), settings.detect_rule(), settings.score_weights()
warm_up(*rules)
first = compiled()
assert first
for _ in replay_log(log(), *rules):
    pass
print(sorted(compiled() - first))
"""


def test_nothing_is_compiled_after_the_warm_up(tmp_path):
    write(tmp_path / "stories.jsonl", 2_000)
    command = [sys.executable, "-c", FOLLOWED, str(tmp_path / "stories.jsonl")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
