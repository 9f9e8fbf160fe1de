"""What a correction by hand names, looked up."""

from contextlib import closing

import msgspec
import pytest

from pipeline.storage.amendments import CannotAmend, of_clusters, of_stories
from pipeline.storage.read import Reader
from tests.make import assignment
from tests.storage.dump import write


@pytest.fixture
def editions(database):
    """A reader of a database in which stories of two editions have the same ids."""
    rows = [assignment(n, f"c{edition}", f"s{n}", edition=edition) for edition in ("de", "fr") for n in range(2)]
    write(database, rows)
    with closing(Reader(database)) as reader:
        yield reader


def test_an_id_names_a_story_within_its_edition(editions):
    with pytest.raises(CannotAmend, match="in several editions, de, fr: say in which, by --edition"):
        of_stories(editions, ["s0"], "ann")
    assert of_stories(editions, ["s0"], "ann", edition="de").edition == "de"
    moved = of_stories(editions, ["s0", "https://news.example/s1"], "ann", to="cfr")
    assert (moved.edition, moved.action, moved.stories, moved.clusters) == ("fr", "move", ["s0", "s1"], ["cfr"])


def test_clusters_of_several_editions_are_not_merged(editions):
    with pytest.raises(CannotAmend, match="of several editions, de, fr"):
        of_clusters(editions, ["cde", "cfr"], "ann")


def test_the_latest_of_stories_with_one_url_is_meant(database):
    first, second = assignment(0, "ca", "s0"), assignment(1, "cb", "s1")
    story = msgspec.structs.replace(
        second.story, url=first.story.url, received_at=first.story.received_at.replace(hour=13)
    )
    write(database, [first, msgspec.structs.replace(second, story=story)])
    with closing(Reader(database)) as reader:
        assert of_stories(reader, [first.story.url], "ann").stories == ["s1"]
