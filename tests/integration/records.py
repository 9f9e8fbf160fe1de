"""Records that are stories, and records that are none."""

import json

import msgspec
from click.testing import CliRunner
from prometheus_client import REGISTRY

from pipeline.cli import main

GOOD = {
    "url": "https://a.example/1",
    "title": "Quake hits city",
    "publisher": "P",
    "crawled_at": "2024-05-01T12:00:00Z",
}


def raw(**changes):
    fields = {name: value for name, value in (GOOD | changes).items() if value is not None}
    return msgspec.json.encode(fields)


def dead(cause):
    """How many dead letters of a stage named "tried" were counted with this cause."""
    return sum(
        sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.name == "newsburst_dead_letters_total"
        and sample.labels["stage"] == "tried"
        and sample.labels["cause"] == cause
    )


def dlq(settings, *arguments):
    """What a command prints."""
    result = CliRunner().invoke(main, ["dlq", *arguments], env=settings.environment())
    assert result.exit_code == 0, result.output
    return result.stdout


def listed(settings, *arguments):
    return json.loads(dlq(settings, "list", "--json", *arguments))
