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

from agents.runtime.producer import Message, PackedProducer
from pipeline.codec import encode
from pipeline.config import Settings
from pipeline.kafka.admin import BrokerError
from pipeline.kafka.progress import GroupProgress
from pipeline.records import TICK, Tick

log = structlog.get_logger()

INTERVAL_S = 15.0
"""Seconds between two looks."""
TRAVEL_TIMEOUT_S = 30.0
"""Seconds in which stories must have gone all the way."""
POLL_S = 0.5
"""Seconds until it is looked again whether they have."""
SEND_TIMEOUT_S = 5.0
"""Seconds in which the broker must have a tick."""
UPSTREAM = ("stories", "normalised", "fingerprints")
"""The topics that stories pass on their way into the log."""


async def keep_ticking(
    settings: Settings,
    producer: PackedProducer,
    living: Callable[[], Iterable[tuple[int, str]]],
    every: float = INTERVAL_S,
) -> None:
    """Write ticks for the editions that are `living`, each with its partition, until cancelled."""
    while True:
        await asyncio.sleep(every)
        if not any(True for _ in living()):
            continue
        looked = time.monotonic()
        try:
            async with asyncio.timeout(TRAVEL_TIMEOUT_S), GroupProgress(settings) as progress:
                for stream in UPSTREAM:
                    ends = await progress.ends([stream])
                    while await progress.left(ends):  # noqa: ASYNC110 - it is the broker that knows
                        await asyncio.sleep(POLL_S)
            behind = round(1_000 * (time.monotonic() - looked)) + 1
            ticks = [_tick(settings, number, edition, behind) for number, edition in sorted(living())]
            await asyncio.wait_for(producer.send(ticks), SEND_TIMEOUT_S)  # one that waits for the broker says too much
        except (BrokerError, KafkaError, TimeoutError) as error:
            log.info("no ticks: stories wait, or the broker is away", error=repr(error))
        except Exception:  # what only lets time pass must not end a worker
            log.exception("no ticks")


def _tick(settings: Settings, number: int, edition: str, behind: int) -> Message:
    record = encode(Tick(edition=edition, behind_ms=behind))
    return Message(settings.topic("fingerprints"), edition.encode(), record, number, [TICK])
