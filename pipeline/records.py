"""The records on the topics, in the order of a story's path.

Each is a frozen struct that is JSON on the wire: RFC 3339 times in UTC, unknown fields ignored, new fields always
optional. `schemas/` holds the JSON Schema of each, written from these classes (`newsburst topics schemas`).
"""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

MAX_ID = 512
"""Longest id in bytes of UTF-8: two of them have to fit a row of an index in Postgres."""
MAX_URL = 4_096
MAX_TITLE = 2_000
MAX_PUBLISHER = 500
MAX_BODY = 200_000
"""Longest field values in characters; a story beyond one goes to the dead letters."""
MAX_BY = 200
"""The longest name of who amends."""
MAX_AMENDED = 1_000
"""The most stories or clusters that an amendment names."""

LANGUAGE_TAG = r"^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8}){0,7}$"
"""A tag of BCP 47: a language, and what may follow it."""

Id = Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
Url = Annotated[str, Meta(min_length=1, max_length=MAX_URL)]
Time = Annotated[datetime, Meta(tz=True)]
Language = Annotated[str, Meta(pattern=LANGUAGE_TAG)]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What all records share: they are immutable and built by field name."""


class Story(Record, frozen=True, kw_only=True):
    """A crawled story as people produce it to the topic `stories`."""

    url: Url
    title: Annotated[str, Meta(min_length=1, max_length=MAX_TITLE)]
    publisher: Annotated[str, Meta(max_length=MAX_PUBLISHER, description="If empty, the host of the URL.")]
    crawled_at: Annotated[Time, Meta(description="When the crawler saw the story: the event time of all that follows.")]
    id: Annotated[
        Id | None, Meta(description="Names the story for good; if missing, the hash of the canonical URL.")
    ] = None
    body: Annotated[str, Meta(max_length=MAX_BODY)] | None = None
    language: Language | None = None
    published_at: Time | None = None
    retracted: Annotated[bool, Meta(description="The publisher took it back: it leaves counts and reports.")] = False
    extra: Annotated[
        dict[str, Any],
        Meta(description="Fields of your own, kept for reports. Any other field that is not listed here is put there."),
    ] = {}


class NormalisedStory(Record, frozen=True, kw_only=True):
    """A story made comparable: clean text, canonical URL, and the tokens that matching works on."""

    id: Id
    edition: Annotated[str, Meta(description="The stream this story is clustered in: its language, or a part of it.")]
    url: str
    title: str
    publisher: str
    family: Annotated[str, Meta(description="The publisher's family: the feeds of one publisher count once.")]
    language: str
    crawled_at: Annotated[Time, Meta(description="Event time; never after `received_at`.")]
    received_at: Annotated[Time, Meta(description="When the broker took the story in.")]
    tokens: Annotated[
        list[str], Meta(description="Stems of the headline's content words, in reading order, repeats kept.")
    ]
    marked: Annotated[
        list[str], Meta(description="Those tokens that the headline writes with a capital or a digit first.")
    ]
    published_at: Time | None = None
    lead: Annotated[list[str], Meta(description="Stems of the content words with which the body begins.")] = []
    body: Annotated[str | None, Meta(description="Clean text of the body; not carried on past the sketches.")] = None
    retracted: bool = False
    extra: Annotated[dict[str, Any], Meta(description="Fields of the producer's own.")] = {}


class Fingerprint(Record, frozen=True, kw_only=True):
    """A story with the two sketches of its tokens, by which similar stories are found."""

    story: NormalisedStory
    signature: Annotated[bytes, Meta(description="MinHash: 120 little-endian unsigned 32-bit integers, base64.")]
    simhash: Annotated[str, Meta(description="SimHash: 64 bits as 16 hexadecimal digits.", pattern="^[0-9a-f]{16}$")]
    body_signature: Annotated[
        bytes | None, Meta(description="MinHash of the body's character shingles, like `signature`.")
    ] = None


class Similar(Record, frozen=True, kw_only=False, gc=False):
    """A story found similar to another."""

    story_id: Id
    score: Annotated[float, Meta(description="Jaccard similarity of the two token sets, 0 to 1.")]


class Assignment(Record, frozen=True, kw_only=True):
    """The cluster a story was put in, and why: all that is needed to rebuild the clustering."""

    story: NormalisedStory
    simhash: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
    position: Annotated[int, Meta(description="Offset of the story's record on `fingerprints`: later is larger.")]
    cluster_id: Id
    merged: Annotated[list[str], Meta(description="Clusters that this story showed to be one with `cluster_id`.")]
    weights: Annotated[dict[str, int], Meta(description="TF-IDF vector of the tokens; 65536 is a length of one.")]
    similar: Annotated[list[Similar], Meta(description="The most similar stories of the look-back, best first.")]
    duplicate_of: Annotated[str | None, Meta(description="The first story that this one is a near-duplicate of.")] = (
        None
    )
    tied: Annotated[
        list[str], Meta(description="Clusters that it might belong to as well, but that are not one with `cluster_id`.")
    ] = []
    late: Annotated[
        bool,
        Meta(
            description="It was crawled longer before stream time than the look-back: it joins and counts, but starts no event."
        ),
    ] = False
    stream_time: Annotated[
        Time | None, Meta(description="Stream time of its edition when it came, this story included.")
    ] = None
    revision: Annotated[
        bool,
        Meta(
            description="The story was known: its text is corrected, or it is retracted. It stays in its cluster, at its time."
        ),
    ] = False
    revises: Annotated[int | None, Meta(description="Of a revision: position of the story's assignment.")] = None
    body_signature: bytes | None = None


class Tick(Record, frozen=True, kw_only=True):
    """A record on `fingerprints` that lets stream time pass while no stories come; it has the header `TICK`.

    The broker stamps it. All that had come to `stories` up to `behind_ms` before that was done with when it was written.
    """

    edition: str
    behind_ms: Annotated[int, Meta(ge=0)] = 0
    at: Annotated[Time | None, Meta(description="The broker's time less `behind_ms`; set by who reads it.")] = None


class StreamTime(Record, frozen=True, kw_only=True):
    """The stream time of an edition after a tick: on `assignments` (with the header `TICK`), and as a row of both tables."""

    edition: str
    position: Annotated[int, Meta(description="Offset of the tick on `fingerprints`.")]
    stream_time: Time
    received_at: Annotated[Time, Meta(description="The broker's time at which stream time was that.")]


class Amendment(Record, frozen=True, kw_only=True):
    """A correction by hand, on `amendments`, and on `fingerprints` with the header `AMENDMENT`.

    `pipeline.stages.amend` says which fields an action needs.
    """

    id: Annotated[Id, Meta(description="Names the amendment: one that comes again changes nothing.")]
    edition: Annotated[str, Meta(min_length=1, max_length=64)]
    action: Annotated[
        Literal["move", "split", "merge", "dismiss", "reinstate", "pin"],
        Meta(
            description="`move` stories to another cluster, `split` them off into a new one, `merge` clusters, `dismiss` an "
            "event or `reinstate` it, `pin` the headline of an event."
        ),
    ]
    by: Annotated[str, Meta(min_length=1, max_length=MAX_BY, description="Who asks for it.")]
    stories: Annotated[
        list[Id], Meta(max_length=MAX_AMENDED, description="Of `move` and `split`, the ids of the stories.")
    ] = []
    clusters: Annotated[
        list[Id],
        Meta(
            max_length=MAX_AMENDED,
            description="Of `move` the cluster that the stories belong to; of `merge` the clusters that are one; of an action on "
            "an event its cluster.",
        ),
    ] = []
    event_id: Id | None = None
    headline: Annotated[
        Annotated[str, Meta(max_length=MAX_TITLE)] | None,
        Meta(description="Of `pin`; if missing, the event has the headline of its most central story again."),
    ] = None
    reason: Annotated[str, Meta(max_length=MAX_TITLE)] | None = None
    at: Annotated[Time | None, Meta(description="When the broker took it in; set by who reads it.")] = None


class MovedStory(Record, frozen=True, kw_only=True):
    """A story that an amendment took out of a cluster."""

    id: Id
    position: Annotated[int, Meta(description="Position of its assignment.")]
    crawled_at: Time
    cluster_id: Annotated[Id, Meta(description="The cluster that it was in.")]


class Amended(Record, frozen=True, kw_only=True):
    """What an amendment changed, or why nothing: on `assignments` (with the header `AMENDMENT`), and as a row of both tables."""

    amendment: Amendment
    position: Annotated[int, Meta(description="Offset of the amendment on `fingerprints`.")]
    stream_time: Time
    refused: Annotated[
        Annotated[str, Meta(max_length=MAX_TITLE)] | None, Meta(description="Why it changed nothing.")
    ] = None
    cluster_id: Annotated[
        Id | None, Meta(description="The cluster that holds the stories now, or that of the event.")
    ] = None
    moved: list[MovedStory] = []
    merged: Annotated[list[Id], Meta(description="Clusters that are one with `cluster_id` now.")] = []


KIND = "newsburst-kind"
TICK, AMENDMENT = (KIND, b"tick"), (KIND, b"amendment")
"""Headers of what is no story on `fingerprints` and `assignments`: ticks and amendments, and what they bring."""


class Cluster(Record, frozen=True, kw_only=True):
    """The latest state of a cluster. When `merged_into` is set, its stories are counted there."""

    id: Id
    edition: str
    position: Annotated[int, Meta(description="Position of the story that brought this state: later is larger.")]
    stories: int
    publishers: int
    headline: Annotated[str | None, Meta(description="Headline of its first story; none while that is retracted.")] = (
        None
    )
    first_seen: Time | None = None
    last_seen: Time | None = None
    merged_into: str | None = None


class Rule(Record, frozen=True, kw_only=True):
    """What makes a cluster a breaking event: more than `threshold` stories within `window_seconds`."""

    threshold: int
    window_seconds: int
    min_publishers: int


class EventStory(Record, frozen=True, kw_only=True, gc=False):
    """A story as evidence of an event."""

    id: Id
    title: str
    publisher: str
    url: str
    crawled_at: Time


class RelatedEvent(Record, frozen=True, kw_only=True):
    """Another active event that reads like this one."""

    event_id: Id
    score: Annotated[
        float, Meta(description="Cosine of the mean TF-IDF vectors of the windows in which the two broke.")
    ]


class EventUpdate(Record, frozen=True, kw_only=True):
    """What is known of a breaking event at one moment, with the stories that show it."""

    event_id: Id
    sequence: Annotated[int, Meta(description="1 for the alert, then one more with each update.", ge=0)]
    state: Annotated[
        Literal["emerging", "started", "updated", "ended", "reopened"],
        Meta(
            description="`emerging`: not yet an event, sequence 0, if that is asked for; `reopened`: it had ended, and its "
            "cluster broke again about the same."
        ),
    ]
    cluster_id: Id
    edition: str
    position: Annotated[int, Meta(description="Position of the story that caused this update.")]
    at: Annotated[Time, Meta(description="Stream time of this update.")]
    rule: Rule
    headline: Annotated[
        str, Meta(description="Headline of the window's most central story, or of the last that was retracted.")
    ]
    stories_in_window: int
    publishers_in_window: int
    copies_in_window: Annotated[int, Meta(description="How many of them are near-duplicates of another story.")]
    stories_total: Annotated[int, Meta(description="Stories of the event so far.")]
    burst_score: Annotated[
        float,
        Meta(
            description="How unusual the window is for its edition at this hour, in standard deviations above what was expected. "
            "Each story counts by its nearness to the centre of the window."
        ),
    ]
    window_start: Time
    window_end: Time
    first_seen: Time
    last_seen: Time
    caused_by: Annotated[
        str | None, Meta(description="Id of the story that caused this update; none if time alone or an amendment did.")
    ]
    caused_by_received_at: Annotated[
        Time,
        Meta(
            description="When the broker took that story or amendment in; or its time, if time alone caused the update."
        ),
    ]
    stories: Annotated[
        list[EventStory], Meta(description="Evidence: the first story, then the most central ones; 50 at most.")
    ]
    merged_into: Annotated[
        str | None, Meta(description="The event that goes on for this one, when two proved one.")
    ] = None
    related_events: Annotated[
        list[RelatedEvent],
        Meta(description="In an alert: other active events of the edition that read like it, the most alike first."),
    ] = []
    started_at: Annotated[Time | None, Meta(description="Stream time of the alert.")] = None
    expected_in_window: Annotated[
        float | None,
        Meta(
            description="Stories expected in the window: the edition's usual volume times the cluster's share before."
        ),
    ] = None
    publishers_total: Annotated[int | None, Meta(description="Publisher families of the event so far.")] = None
    reopened: Annotated[int, Meta(description="How often it broke again after it had ended.")] = 0
    ended_at: Annotated[
        Time | None,
        Meta(
            description="When it ended: when its window was empty, or stream time if it ended before; none while it is active."
        ),
    ] = None
    dismissed: Annotated[bool, Meta(description="Somebody said by hand that it is no event: it is over.")] = False
    amendment_id: Annotated[str | None, Meta(description="The amendment that caused this update.")] = None
    members: Annotated[
        bytes | None,
        Meta(
            description="All its stories, packed in MessagePack as four arrays: steps of position, steps of time in "
            "microseconds, nearness to the event's centre from 0 to 100, and whether it is a stray."
        ),
    ] = None


class EventMark(Record, frozen=True, kw_only=True):
    """Where an event of a cluster stands, as the cluster's newest row remembers it. Times in microseconds since 1970."""

    event_id: Id
    sequence: int
    active: bool
    started_at: Annotated[int, Meta(description="Stream time of its alert.")]
    reported: Annotated[int, Meta(description="Stories of the event when the last update was made.")]
    position: Annotated[int, Meta(description="Position of the story that started it.")]
    window_start: Annotated[int, Meta(description="Start of the window in which it broke.")]
    window_end: Annotated[int, Meta(description="End of that window.")]
    since: Annotated[
        int | None, Meta(description="The cluster's stories from here on are the event's; if missing, all are.")
    ] = None
    retractions: Annotated[int, Meta(description="How many of its stories were retracted while it was active.")] = 0
    reopened: Annotated[int, Meta(description="How often it broke again after it had ended.")] = 0
    dismissed: Annotated[bool, Meta(description="Whether it was dismissed by hand.")] = False
    ended_at: Annotated[int | None, Meta(description="When it ended; missing while it is active.")] = None
    merged_into: Annotated[str | None, Meta(description="The event that it went on in.")] = None
    headline: Annotated[str | None, Meta(description="The headline that was pinned by hand.")] = None


class Detection(Record, frozen=True, kw_only=True):
    """Row of the detect stage's table: a story counted, and where the events of its cluster stood then."""

    assignment: Assignment
    marks: Annotated[list[EventMark], Meta(description="The events of its cluster by then, the current one last.")] = []
    emerged: Annotated[bool, Meta(description="Whether its cluster had emerged by then.")] = False


class AmendedDetection(Record, frozen=True, kw_only=True):
    """Row of the detect stage's table: an amendment, and where the events of the clusters that it touched stood then."""

    amended: Amended
    marks: Annotated[dict[Id, list[EventMark]], Meta(description="The events of each cluster by then.")] = {}
    emerged: Annotated[list[Id], Meta(description="The clusters that had emerged by then.")] = []


class InEdition(Record, frozen=True, kw_only=True):
    """Of a story, its edition."""

    edition: str


class Place(Record, frozen=True, kw_only=True):
    """Of an Assignment, where its row belongs: a tenth of the work of reading it whole."""

    story: InEdition
    position: int


class DetectionPlace(Record, frozen=True, kw_only=True):
    """The same of a Detection."""

    assignment: Place


class DeadLetter(Record, frozen=True, kw_only=True):
    """The headers of a message that could not be processed; its key and value are the original bytes."""

    stage: str
    error: str
    topic: str
    partition: int
    offset: int
    received_at: Time
