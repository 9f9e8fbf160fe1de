"""Filters of events: what pages, feeds, the API and subscriptions choose by. The same filter holds in SQL and on the topic."""

from typing import Literal

import msgspec

from pipeline.languages.publishers import family
from pipeline.records import EventUpdate

State = Literal["started", "updated", "ended", "reopened"]
EDITION = r"^[a-z]{2,3}(-[a-z0-9]{1,32})?$"
"""The name of an edition: a language, or a part of one."""


class EventFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which events are wanted; what is None does not matter."""

    edition: str | None = None
    """a language, with all its parts; or a part, such as en-sport"""
    publisher: str | None = None
    """events with a story of this publisher: its family, or its name as stories give it"""
    words: str | None = None
    """the headline holds every one of these, in any case"""
    publishers: int = 0
    """the least number of publisher families"""
    state: State | None = None

    def wanted_words(self) -> list[str]:
        """The words, one by one."""
        return (self.words or "").lower().split()

    def matches(self, update: EventUpdate) -> bool:
        """Whether this update is of such an event; its publishers are those of its evidence, 50 stories at most."""
        headline = update.headline.lower()
        return (
            update.sequence > 0
            and is_of(update.edition, self.edition)
            and self.state in {None, update.state}
            and (update.publishers_total or update.publishers_in_window) >= self.publishers
            and all(word in headline for word in self.wanted_words())
            and (
                self.publisher is None
                or self.publisher.lower() in {story.publisher.lower() for story in update.stories}
                or self.publisher.lower() in {family(story.publisher) for story in update.stories}
            )
        )


def is_of(edition: str, wanted: str | None) -> bool:
    """Whether an edition is the wanted one, or a part of it; None: every edition is wanted."""
    return wanted is None or edition == wanted or edition.startswith(f"{wanted}-")
