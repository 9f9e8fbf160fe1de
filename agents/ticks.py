"""Ticks: let stream time pass in the editions of this worker while no stories come for them.

A tick is a record on `fingerprints` like a story: it stands in the log, and the replay sees it. It says that all stories that
the broker had taken in up to a moment are done with. So it follows them on their way, from one topic to the next, and comes when
the last is done with what was there then. After an outage, stories that waited are worked on in their own time.

    look   ends of stories: 812 .. done   ends of normalised: 790 .. done   ends of fingerprints: 801 .. done   tick: to the look
"""

import asyncio
import time
from collections.abc import Callable, Iterable

import structlog
from aiokafka.errors import KafkaError

from agents.outbox import Message, Sender
from pipeline.broker import BrokerError, Gauge
from pipeline.config import Settings
from pipeline.records import KIND, Tick, encode

log = structlog.get_logger()

EVERY = 15.0
"""Seconds between two looks."""
LONGEST = 30.0
"""Seconds in which stories must have gone all the way."""
AGAIN = 0.5
"""Seconds until it is looked again whether they have."""
SENT_WITHIN = 5.0
"""Seconds in which the broker must have a tick."""
BEFORE = ("stories", "normalised", "fingerprints")
"""The topics that stories pass on their way into the log."""


async def keep_ticking(
    settings: Settings, sender: Sender, living: Callable[[], Iterable[tuple[int, str]]], every: float = EVERY
) -> None:
    """Write ticks for the editions that are `living`, each with its partition, until cancelled."""
    while True:
        await asyncio.sleep(every)
        if not any(True for _ in living()):
            continue
        looked = time.monotonic()
        try:
            async with asyncio.timeout(LONGEST), Gauge(settings) as gauge:
                for stream in BEFORE:
                    ends = await gauge.ends([stream])
                    while await gauge.left(ends):  # noqa: ASYNC110 - it is the broker that knows
                        await asyncio.sleep(AGAIN)
            behind = round(1_000 * (time.monotonic() - looked)) + 1
            ticks = [_tick(settings, number, edition, behind) for number, edition in sorted(living())]
            await asyncio.wait_for(sender.send(ticks), SENT_WITHIN)  # one that waits for the broker says too much
        except (BrokerError, KafkaError, TimeoutError) as error:
            log.info("no ticks: stories wait, or the broker is away", error=repr(error))
        except Exception:  # what only lets time pass must not end a worker
            log.exception("no ticks")


def _tick(settings: Settings, number: int, edition: str, behind: int) -> Message:
    record = encode(Tick(edition=edition, behind_ms=behind))
    return Message(settings.topic("fingerprints"), edition.encode(), record, number, [KIND])
