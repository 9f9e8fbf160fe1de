"""Wait until the workers have finished, then compare topics and Postgres with the replay.

    python -m tests.reliability.compose_judge STORIES

Exits with 1 if the promise was not kept, if there are other than so many stories, or any dead letters.
"""

import asyncio
import sys
import time

from pipeline.config import load
from pipeline.kafka.progress import GroupProgress
from tests.reliability.promise import judge, other_database

LIMIT_S = 300
QUIET_LOOKS = 3
"""Looks in a row that find nothing left to do."""


async def settled(settings):
    """The number of dead letters, once the workers have nothing left to do."""
    deadline, quiet = time.monotonic() + LIMIT_S, 0
    async with GroupProgress(settings) as progress:
        while quiet < QUIET_LOOKS:
            assert time.monotonic() < deadline, f"The workers are not done after {LIMIT_S} s."
            quiet = 0 if await progress.lag() else quiet + 1
            await asyncio.sleep(0.5)
        return await progress.dead_letters()


def main():
    """Judge, and say what was found."""
    settings = load()
    dead = asyncio.run(settled(settings))
    verdict = judge(settings, other_database(settings))
    print(f"{dead} dead letters; {verdict}")  # noqa: T201 - what it is run for
    sys.exit(not verdict.kept or bool(dead) or verdict.stories != int(sys.argv[1]))


if __name__ == "__main__":
    main()
