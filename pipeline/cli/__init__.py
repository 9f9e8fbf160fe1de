"""The command `newsburst`: each of its commands is a module of its own name here, and loaded when it is used."""

import gc
import signal
import sys
from importlib import import_module
from typing import Any

import click

from pipeline import __version__
from pipeline.cli.loading import ended_by_interrupt

COMMANDS = {
    "demo": "Play 11,623 real stories through Kafka and watch events break; then query them in Postgres.",
    "up": "Run Kafka, Postgres, a worker and the pages here until Ctrl-C; their data stay in the folder NEWSBURST_DATA.",
    "worker": "Run a worker: the agents from stories to Postgres. Run several to share the partitions.",
    "web": "Serve pages, API and feeds on http://127.0.0.1:8080 until Ctrl-C: what is breaking now, live, with its evidence.",
    "subscribe": "Say who is told of events: webhooks, chats and mail. `newsburst push` sends.",
    "push": "Send events to subscribers until Ctrl-C; `newsburst subscribe` says to whom. Run several if you like.",
    "crawl": "Read feeds, politely and for ever, and send their stories to Kafka: RSS, Atom, JSON Feed, news sitemaps.",
    "amend": "Correct clusters and events by hand: move stories, merge and split clusters, dismiss an event, pin its headline.",
    "produce": "Send the stories of FILE to Kafka: one JSON object a line, plain or gzip; - is standard input.",
    "replay": "Run the stories of FILE through the same stages as the worker does, without Kafka and Postgres.",
    "events": "Print the updates of all events from the events topic, the oldest first.",
    "report": "Query the reports in Postgres.",
    "dlq": "Look at dead letters, the messages that a stage could not process, and send them again.",
    "seek": "Have the workers go on at this offset of a partition: to skip a record, or to have some read again.",
    "state": "Look at the state of the stages, take it over with another rule, or start from nothing.",
    "topics": "Make and check the Kafka topics.",
    "migrate": "Bring the schema `news` in Postgres up to date.",
    "restore": "Make the workers write again what Postgres lacks, after an older copy of it was restored.",
    "retain": "Delete old stories from Postgres; workers may go on.",
    "settings": "Print the settings as they are, and where each comes from; secrets are masked.",
    "doctor": "Say what is reachable, what is missing, and what to do; exits with 1 if something is missing.",
    "dedupe": "Find near-duplicates in files of documents: JSONL, CSV, TSV or plain lines, gzip and zstd; - is standard input.",
    "cluster": "Cluster the stories of an archive and find its events, without Kafka.",
    "similar": "Make an index of files of documents, and find the documents that are similar to a text.",
    "curve": "Print the S-curves of bands and rows: how likely a pair becomes a candidate, by its similarity.",
    "evaluate": "Replay STORIES and measure clusters and alerts against labels.",
    "fit": "Learn the weights of the scores from labelled STORIES, one or several files, each with its --truth.",
    "tune": "Find the bands and rows that lead the stories of STORIES to their clusters at least cost.",
}
"""What each command does, in one line."""


class Commands(click.Group):
    """The commands. Errors that are expected are shown as one sentence, and the exit code is 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as click calls it
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return None
        with ended_by_interrupt():
            command: click.Command = getattr(import_module(f"pipeline.cli.{cmd_name}"), f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as click calls it
        """Write what each does; none is loaded for this."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            from pipeline.cli.expected import explained  # noqa: PLC0415 - it loads most of the pipeline

            if (said := explained(error)) is None:
                raise
            raise said from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="newsburst")
def main() -> None:
    """Breaking news events from a stream of crawled stories: Kafka in, Kafka and Postgres out.

    Settings are environment variables NEWSBURST_...; while `newsburst up` or `newsburst demo` runs in this folder, the other
    commands find its services by themselves.
    """
    gc.set_threshold(100_000, 50, 100)  # stories are kept by the ten thousand: most looks for garbage find none
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
