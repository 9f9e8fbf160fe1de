"""The tables of the schema `news`, as SQLAlchemy sees them. `migrations/` makes them; a test holds both equal."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

SCHEMA = "news"

metadata = MetaData(
    schema=SCHEMA,
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "pk": "%(table_name)s_pkey",
    },
)

Time = DateTime(timezone=True)

clusters = Table(
    "clusters",
    metadata,
    Column(
        "id",
        Text,
        primary_key=True,
        comment="Stable id; derived from the story that opened the cluster, its edition and when it came.",
    ),
    Column("edition", Text, nullable=False, comment="The stream it belongs to: a language."),
    Column("position", BigInteger, nullable=False, comment="Log position of this state; -1 before any has come."),
    Column("stories", Integer, nullable=False, comment="How many stories it has; 0 once merged into another."),
    Column("publishers", Integer, nullable=False, comment="From how many different publishers."),
    Column("headline", Text, comment="Headline of its first story; none while that is retracted."),
    Column("first_seen", Time, comment="Crawl time of its first story."),
    Column("last_seen", Time, comment="Crawl time of its last story."),
    Column("merged_into", Text, comment="The cluster that its stories are counted in now."),
    Index(None, "merged_into"),
    comment="Clusters: stories about one event, latest state.",
)

stories = Table(
    "stories",
    metadata,
    Column(
        "id",
        Text,
        primary_key=True,
        comment="The producer's id, or the hash of the canonical URL; unique within the edition.",
    ),
    Column("edition", Text, primary_key=True, comment="The stream it was clustered in: its language."),
    Column("url", Text, nullable=False, comment="Canonical URL."),
    Column("title", Text, nullable=False, comment="Clean headline."),
    Column("publisher", Text, nullable=False),
    Column("family", Text, nullable=False, comment="The publisher's family: its feeds count once."),
    Column("language", Text, nullable=False, comment="BCP 47 tag."),
    Column("crawled_at", Time, nullable=False, comment="Event time: when the crawler saw it."),
    Column("received_at", Time, nullable=False, comment="When the broker took it in."),
    Column("published_at", Time, comment="When it says it was published."),
    Column("simhash", BigInteger, nullable=False, comment="64-bit SimHash, as a signed integer."),
    Column(
        "late",
        Boolean,
        nullable=False,
        comment="It was crawled longer before stream time than the look-back: it joined and counted, but started no event.",
    ),
    Column("position", BigInteger, nullable=False, comment="Log position of its assignment, or of its last revision."),
    Column("retracted", Boolean, nullable=False, comment="Its publisher took it back: reports leave it out."),
    Index(None, "crawled_at"),
    comment="Every story, once an edition.",
)

cluster_stories = Table(
    "cluster_stories",
    metadata,
    Column("story_id", Text, primary_key=True),
    Column("edition", Text, primary_key=True, comment="Edition of the story."),
    Column(
        "cluster_id",
        Text,
        ForeignKey(clusters.c.id),
        primary_key=True,
        comment="The cluster it joined; see merged_into.",
    ),
    Column("position", BigInteger, nullable=False, comment="Log position of its assignment."),
    ForeignKeyConstraint(["edition", "story_id"], [stories.c.edition, stories.c.id], ondelete="CASCADE"),
    Index(None, "cluster_id"),
    comment="Which cluster each story was put in when it came; more than one where it came again after a cluster had died.",
)

story_links = Table(
    "story_links",
    metadata,
    Column("story_id", Text, primary_key=True),
    Column("edition", Text, primary_key=True, comment="Edition of both stories."),
    Column("other_id", Text, primary_key=True, comment="The earlier story."),
    Column("kind", Text, primary_key=True, comment="duplicate (near-copy of the first such story) or similar."),
    Column(
        "score", Double, comment="Jaccard similarity of the two token sets; none for duplicates of an unlisted story."
    ),
    ForeignKeyConstraint(["edition", "story_id"], [stories.c.edition, stories.c.id], ondelete="CASCADE"),
    Index(None, "other_id"),
    comment="Stories found similar, and near-duplicates.",
)

events = Table(
    "events",
    metadata,
    Column("id", Text, primary_key=True),
    Column("cluster_id", Text, ForeignKey(clusters.c.id), nullable=False),
    Column("edition", Text, nullable=False),
    Column("sequence", Integer, nullable=False, comment="Sequence of the latest update."),
    Column("state", Text, nullable=False, comment="started, updated or ended."),
    Column("headline", Text, nullable=False, comment="Headline of the most central story."),
    Column("updated_at", Time, nullable=False, comment="Stream time of the latest update."),
    Column("first_seen", Time, nullable=False),
    Column("last_seen", Time, nullable=False),
    Column("stories_in_window", Integer, nullable=False),
    Column("publishers_in_window", Integer, nullable=False),
    Column("copies_in_window", Integer, nullable=False),
    Column("stories_total", Integer, nullable=False),
    Column("burst_score", Double, nullable=False, comment="How unusual the window is for its edition and hour."),
    Column("merged_into", Text, comment="The event that goes on for this one."),
    Index(None, "cluster_id"),
    Index(None, "merged_into"),
    comment="Breaking events, latest state.",
)

event_updates = Table(
    "event_updates",
    metadata,
    Column("event_id", Text, ForeignKey(events.c.id, ondelete="CASCADE"), primary_key=True),
    Column("sequence", Integer, primary_key=True),
    Column("state", Text, nullable=False),
    Column("at", Time, nullable=False, comment="Stream time."),
    Column("position", BigInteger, nullable=False),
    Column("stories_in_window", Integer, nullable=False),
    Column("stories_total", Integer, nullable=False),
    Column("record", JSONB, nullable=False, comment="The whole update as it stands on the topic, with its evidence."),
    comment="Every update of every event: the log behind `events`.",
)

alert_profiles = Table(
    "alert_profiles",
    metadata,
    Column("event_id", Text, ForeignKey(events.c.id, ondelete="CASCADE"), primary_key=True),
    Column("edition", Text, nullable=False),
    Column("at", Time, nullable=False, comment="Stream time of the alert."),
    Column(
        "places", JSONB, nullable=False, comment="Countries (ISO 3166) that its headlines name, with the share that do."
    ),
    Column("numbers", JSONB, nullable=False, comment="The same of numbers."),
    Column("names", JSONB, nullable=False, comment="The same of names, as classes of consonants."),
    Index(None, "at"),
    comment="What the headlines of alerts name: by this, events of different editions are linked.",
)

event_links = Table(
    "event_links",
    metadata,
    Column("event_id", Text, ForeignKey(events.c.id, ondelete="CASCADE"), primary_key=True),
    Column(
        "other_id",
        Text,
        ForeignKey(events.c.id, ondelete="CASCADE"),
        primary_key=True,
        comment="An event of another edition. Each link has two rows, one for each of its events.",
    ),
    Column("score", Double, nullable=False, comment="How probable it is that both are one happening, from .75 to 1."),
    Column(
        "places", ARRAY(Text), nullable=False, comment="Countries that the alerts of both name, as codes of ISO 3166."
    ),
    Column("numbers", ARRAY(Text), nullable=False, comment="Numbers that both name, with commas written as points."),
    Index(None, "other_id"),
    comment="Events of different editions that are probably one happening.",
)
