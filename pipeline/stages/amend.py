"""Amend: what a correction by hand has to say, by its action.

move       stories, the one cluster that they belong to
split      stories, which get a cluster of their own
merge      the clusters that are one
dismiss    an event and its cluster: it is over, and does not come back
reinstate  an event and its cluster: it was dismissed by mistake
pin        an event and its cluster; the headline that it has from now on, or none to let go of it
"""

from typing import NamedTuple

from pipeline.codec import InvalidRecord
from pipeline.records import MAX_AMENDED, Amendment


class Needs(NamedTuple):
    """How many stories and clusters an action names, at least and at most, and whether it is about an event."""

    stories: tuple[int, int]
    clusters: tuple[int, int]
    event: bool = False


ACTIONS = {
    "move": Needs((1, MAX_AMENDED), (1, 1)),
    "split": Needs((1, MAX_AMENDED), (0, 0)),
    "merge": Needs((0, 0), (2, MAX_AMENDED)),
    "dismiss": Needs((0, 0), (1, 1), event=True),
    "reinstate": Needs((0, 0), (1, 1), event=True),
    "pin": Needs((0, 0), (1, 1), event=True),
}


def check(amendment: Amendment) -> None:
    """Raises InvalidRecord if a field that the action needs is missing, or one is there that it does not know."""
    needs = ACTIONS[amendment.action]
    for name, (least, most) in (("stories", needs.stories), ("clusters", needs.clusters)):
        count = len(set(getattr(amendment, name)))
        if not least <= count <= most:
            wanted = f"{least}" if least == most else f"{least} to {most:,}"
            raise InvalidRecord(f"Wrong Amendment: {name}: `{amendment.action}` needs {wanted}, not {count}.")
    if needs.event != (amendment.event_id is not None):
        wanted = "needs one" if needs.event else "has none"
        raise InvalidRecord(f"Wrong Amendment: event_id: `{amendment.action}` {wanted}.")
    if amendment.headline is not None and (amendment.action != "pin" or not amendment.headline.strip()):
        raise InvalidRecord("Wrong Amendment: headline: only `pin` has one, and it is not empty.")
    for name in ("by", "reason", "headline"):
        if "\0" in (getattr(amendment, name) or ""):
            raise InvalidRecord(f"Wrong Amendment: {name}: it holds the character NUL.")
    if not amendment.by.strip():
        raise InvalidRecord("Wrong Amendment: by: it should name who asks for it.")
