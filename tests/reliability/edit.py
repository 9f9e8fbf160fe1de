"""An editor who corrects all the time, at random: what is there is looked up in Postgres, as people look at it."""

import asyncio
import random
import threading

from pipeline.kafka.admin import BrokerError
from pipeline.kafka.producer import send_amendment
from pipeline.storage import amendments
from pipeline.storage.engine import DatabaseError
from pipeline.storage.read import Reader

ACTIONS = ("move", "move", "split", "split", "merge", "dismiss", "reinstate", "pin")
LATEST = 300
"""Stories that an editor looks at."""


class Editor:
    """Amends every few seconds until it is told to stop."""

    def __init__(self, settings, seed, every):
        self._settings, self._random, self._every = settings, random.Random(seed), every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self.sent = 0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _work(self):
        reader = Reader(self._settings.postgres)
        while not self._stop.wait(self._every):
            try:
                asked = self._asked(reader)
                if asked is not None:
                    asyncio.run(send_amendment(self._settings, asked))
                    self.sent += 1
            except (DatabaseError, BrokerError, amendments.CannotAmend):
                continue  # the services are away now and then
        reader.close()

    def _asked(self, reader):
        """An amendment of what came lately; None where there is nothing."""
        draw = self._random
        rows = reader.rows(
            "SELECT id, edition, cluster_id FROM news.stories ORDER BY received_at DESC, id LIMIT :limit", limit=LATEST
        )
        events = reader.rows(
            "SELECT id, cluster_id FROM news.events WHERE sequence > 0 ORDER BY updated_at DESC, id LIMIT 10"
        )
        if not rows:
            return None
        action = draw.choice(ACTIONS)
        some = draw.choice(rows)
        alike = [row for row in rows if row["edition"] == some["edition"]]
        chosen = [row["id"] for row in draw.sample(alike, min(len(alike), draw.randint(1, 5)))]
        target = draw.choice(alike)["cluster_id"]
        if action == "move":
            return amendments.of_stories(reader, chosen, "soak", to=target)
        if action == "split":
            same = [row["id"] for row in alike if row["cluster_id"] == some["cluster_id"]]
            return amendments.of_stories(reader, same[:5] if draw.random() < 0.5 else chosen, "soak")
        if action == "merge":
            return amendments.of_clusters(reader, [some["cluster_id"], target], "soak")
        if not events:
            return None
        headline = draw.choice([None, f"Pinned {self.sent}"]) if action == "pin" else None
        return amendments.of_event(reader, action, draw.choice(events)["id"], "soak", headline=headline)
