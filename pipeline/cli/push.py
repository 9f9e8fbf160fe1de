"""`newsburst push`: send events to subscribers."""

import asyncio
import signal
import sys
from contextlib import suppress

import click

from pipeline.config import load
from pipeline.logs import announce, configure
from pipeline.push import SAYS_READY
from pipeline.push.push import push


@click.command("push")
def push_command() -> None:
    """Send events to subscribers until Ctrl-C; `newsburst subscribe` says to whom. Run several if you like.

    \b
    Example: newsburst push
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    configure(settings)
    announce(settings, SAYS_READY, sys.stderr)
    if settings.smtp is None:
        announce(settings, "NEWSBURST_SMTP is not set: mail waits for a `newsburst push` that has it.", sys.stderr)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # supervisors take another code for a failure
    with suppress(KeyboardInterrupt):
        asyncio.run(push(settings))
