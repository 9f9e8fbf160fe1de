"""The tables of the schema `news`, as SQLAlchemy sees them. `migrations/` makes them; a test holds both equal.

A story is named by its edition and its position: the number of the record on the log of its edition by which it was assigned.
The crawl time stands beside both wherever a story is meant, because stories are partitioned by it.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, REAL

SCHEMA = "news"

metadata = MetaData(
    schema=SCHEMA,
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "pk": "%(table_name)s_pkey",
        "ck": "%(table_name)s_%(constraint_name)s_check",
    },
)

Time = DateTime(timezone=True)
STATES = "state IN ('emerging', 'started', 'updated', 'ended', 'reopened')"

clusters = Table(
    "clusters",
    metadata,
    Column(
        "id",
        Text,
        primary_key=True,
        comment="Stable id; derived from the story that opened the cluster, its edition and when it came.",
    ),
    Column("edition", Text, nullable=False, comment="The stream it belongs to: a language, or a part of one."),
    Column("position", BigInteger, nullable=False, comment="Log position of this state; -1 before any has come."),
    Column("stories", Integer, nullable=False, comment="How many stories it has; 0 once merged into another."),
    Column("publishers", Integer, nullable=False, comment="From how many different publishers."),
    Column("headline", Text, comment="Headline of its first story; none while that is retracted."),
    Column("first_seen", Time, comment="Crawl time of its first story."),
    Column("last_seen", Time, comment="Crawl time of its last story."),
    Column(
        "merged_into",
        Text,
        ForeignKey("news.clusters.id"),
        comment="The cluster that its stories are counted in now.",
    ),
    Index(None, "merged_into", postgresql_where=text("merged_into IS NOT NULL")),
    CheckConstraint("stories >= 0 AND publishers >= 0", "counts"),
    comment="Clusters: stories about one event, latest state.",
)

stories = Table(
    "stories",
    metadata,
    Column("edition", Text, primary_key=True, comment="The stream it was clustered in: its language, or a part of it."),
    Column(
        "position",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="Log position of its assignment: unique within the edition, and later is larger.",
    ),
    Column("crawled_at", Time, primary_key=True, comment="Event time: when the crawler saw it."),
    Column("id", Text, nullable=False, comment="The producer's id, or the hash of the canonical URL."),
    Column("url", Text, nullable=False, comment="Canonical URL."),
    Column("title", Text, nullable=False, comment="Clean headline."),
    Column("publisher", Text, nullable=False, comment="The publisher's name as it came, or the host of the URL."),
    Column("family", Text, nullable=False, comment="The publisher's family: its feeds count once."),
    Column("language", Text, nullable=False, comment="BCP 47 tag."),
    Column("received_at", Time, nullable=False, comment="When the broker took it, or its last revision, in."),
    Column("published_at", Time, comment="When it says it was published."),
    Column("simhash", BigInteger, nullable=False, comment="64-bit SimHash of its headline, as a signed integer."),
    Column(
        "late",
        Boolean,
        nullable=False,
        comment="It was crawled longer before stream time than the look-back: it joined and counted, but started no event.",
    ),
    Column("retracted", Boolean, nullable=False, comment="Its publisher took it back: reports leave it out."),
    Column(
        "revision",
        BigInteger,
        nullable=False,
        comment="Log position of its last revision; the same as position if it was never revised.",
    ),
    Column(
        "cluster_id",
        Text,
        ForeignKey(clusters.c.id),
        nullable=False,
        comment="The cluster it joined; where that was merged, clusters.merged_into leads on.",
    ),
    Column(
        "amended", BigInteger, comment="Log position of the amendment that put it into its cluster; none if none did."
    ),
    Column("duplicate_of", Text, comment="Id of the first story that it is a near-duplicate of, of the same edition."),
    Column("similar_ids", ARRAY(Text), comment="Ids of earlier stories that are most similar, the best first."),
    Column("similar_scores", ARRAY(REAL), comment="Their scores: the Jaccard similarity of the two sets of tokens."),
    Column("extra", JSONB, comment="Fields that its producer sent beside those that Newsburst knows."),
    Index(None, "id"),
    Index(None, "url", postgresql_using="hash"),
    Index(None, "crawled_at"),
    Index(None, "cluster_id"),
    Index(None, "duplicate_of", postgresql_where=text("duplicate_of IS NOT NULL")),
    Index("stories_headline_idx", text("news.headline_words(edition, title)"), postgresql_using="gin"),
    Index("stories_simhash_idx", text("news.simhash_blocks(simhash)"), postgresql_using="gin"),
    comment="Stories as they are now. One that is sent again after its cluster has died is another row.",
    postgresql_partition_by="RANGE (crawled_at)",
)

story_versions = Table(
    "story_versions",
    metadata,
    Column("edition", Text, primary_key=True, comment="Edition of the story."),
    Column("position", BigInteger, primary_key=True, autoincrement=False, comment="Position of the story."),
    Column("crawled_at", Time, primary_key=True, comment="Crawl time of the story."),
    Column("revision", BigInteger, primary_key=True, autoincrement=False, comment="Log position of this version."),
    Column("id", Text, nullable=False, comment="Id of the story."),
    Column("title", Text, nullable=False, comment="Its headline in this version."),
    Column("url", Text, nullable=False, comment="Its URL in this version."),
    Column("publisher", Text, nullable=False, comment="Its publisher in this version."),
    Column("retracted", Boolean, nullable=False, comment="Whether it was retracted in this version."),
    Column("received_at", Time, nullable=False, comment="When the broker took this version in."),
    comment="Versions of stories before their last revision; the last version is in `stories`.",
)

publishers = Table(
    "publishers",
    metadata,
    Column("edition", Text, primary_key=True, comment="The edition that it publishes in."),
    Column("family", Text, primary_key=True, comment="The publisher's family: its feeds count once."),
    Column("first_story_at", Time, nullable=False, comment="Crawl time of its first story."),
    Column("last_story_at", Time, nullable=False, comment="Crawl time of its last story."),
    Column("country", Text, comment="Its country (ISO 3166), where the host of its URLs shows it."),
    comment="Publishers that stories came from.",
)

events = Table(
    "events",
    metadata,
    Column("id", Text, primary_key=True, comment="Stable id; derived from the cluster that broke."),
    Column(
        "cluster_id",
        Text,
        ForeignKey(clusters.c.id),
        nullable=False,
        comment="Its cluster when the latest update was made.",
    ),
    Column("edition", Text, nullable=False, comment="The stream it belongs to: a language, or a part of one."),
    Column(
        "sequence",
        Integer,
        nullable=False,
        comment="Sequence of the latest update; 0 if it only emerges, or only an event that was merged into it has come.",
    ),
    Column(
        "state",
        Text,
        nullable=False,
        comment="started; updated; ended; reopened: it had ended, and its cluster broke again about the same; "
        "or emerging: it has not broken.",
    ),
    Column("headline", Text, nullable=False, comment="Headline of the most central story of the latest window."),
    Column("started_at", Time, comment="Stream time of its alert."),
    Column("ended_at", Time, comment="When it ended; none while it is active."),
    Column("updated_at", Time, nullable=False, comment="Stream time of the latest update."),
    Column("first_seen", Time, nullable=False, comment="Crawl time of its first story."),
    Column("last_seen", Time, nullable=False, comment="Crawl time of its last story."),
    Column("stories_in_window", Integer, nullable=False, comment="Stories in the window of the latest update."),
    Column("publishers_in_window", Integer, nullable=False, comment="Publisher families in that window."),
    Column("copies_in_window", Integer, nullable=False, comment="Near-duplicates of other stories in that window."),
    Column(
        "stories_total", Integer, nullable=False, comment="Its stories: as many as `event_stories` has rows for it."
    ),
    Column("publishers_total", Integer, comment="Publisher families of all its stories."),
    Column(
        "burst_score",
        Double,
        nullable=False,
        comment="How unusual the window is, in standard deviations above what was expected for its edition and hour.",
    ),
    Column(
        "reopened",
        Integer,
        nullable=False,
        server_default="0",
        comment="How often it broke again after it had ended.",
    ),
    Column(
        "merged_into",
        Text,
        ForeignKey("news.events.id", ondelete="CASCADE"),
        comment="The event that goes on for this one.",
    ),
    Column(
        "dismissed",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="Whether somebody dismissed it by hand: it is no event.",
    ),
    Index(None, "cluster_id"),
    Index(None, "merged_into", postgresql_where=text("merged_into IS NOT NULL")),
    Index(None, "last_seen"),
    Index(None, "started_at"),
    Index("events_active_idx", "last_seen", postgresql_where=text("state <> 'ended'")),
    CheckConstraint(STATES, "state"),
    CheckConstraint("stories_total >= 0 AND stories_in_window >= 0", "counts"),
    comment="Breaking events, latest state.",
)

event_stories = Table(
    "event_stories",
    metadata,
    Column("event_id", Text, ForeignKey(events.c.id, ondelete="CASCADE"), primary_key=True, comment="The event."),
    Column("edition", Text, primary_key=True, comment="Edition of the story, and of the event."),
    Column("position", BigInteger, primary_key=True, autoincrement=False, comment="Position of the story."),
    Column("crawled_at", Time, nullable=False, comment="Crawl time of the story."),
    Column("sequence", Integer, nullable=False, comment="The update of the event by which this is known: the latest."),
    Column(
        "score",
        SmallInteger,
        comment="Nearness to the event's centre, 0 to 100: the cosine of the two TF-IDF vectors in hundredths. "
        "None for events from before it was kept.",
    ),
    Column(
        "is_stray",
        Boolean,
        nullable=False,
        comment="Whether it is probably not about the event: far from its centre, or before the story near the centre with which "
        "the event begins.",
    ),
    Index(None, "edition", "position"),
    CheckConstraint("score BETWEEN 0 AND 100", "score"),
    comment="Which stories each event has, as of its latest update. `stories` has their headlines.",
)

amendments = Table(
    "amendments",
    metadata,
    Column("id", Text, primary_key=True, comment="Its id."),
    Column("edition", Text, nullable=False, comment="The edition that it amends."),
    Column("position", BigInteger, nullable=False, comment="Its log position: later is larger."),
    Column("action", Text, nullable=False, comment="move, split, merge, dismiss, reinstate or pin."),
    Column("amended_by", Text, nullable=False, comment="Who asked for it."),
    Column("amended_at", Time, nullable=False, comment="When the broker took it in."),
    Column("reason", Text, comment="Why, in the words of who asked."),
    Column("refused", Text, comment="Why it changed nothing; none if it took effect."),
    Column("event_id", Text, comment="The event that it is about, if it is about one."),
    Column("headline", Text, comment="The headline that was pinned."),
    Column("cluster_id", Text, comment="The cluster that holds the stories since, or that of the event."),
    Column(
        "clusters",
        ARRAY(Text),
        nullable=False,
        comment="The clusters that stories left or that were merged; if none were, those that were named.",
    ),
    Column(
        "stories",
        ARRAY(Text),
        nullable=False,
        comment="The ids of the stories that were moved; if none were, of those that were named.",
    ),
    Index(None, "cluster_id"),
    CheckConstraint("action IN ('move', 'split', 'merge', 'dismiss', 'reinstate', 'pin')", "action"),
    comment="Corrections by hand: who amended what, and when.",
)

event_updates = Table(
    "event_updates",
    metadata,
    Column("event_id", Text, ForeignKey(events.c.id, ondelete="CASCADE"), primary_key=True, comment="The event."),
    Column(
        "sequence",
        Integer,
        primary_key=True,
        comment="1 for the alert, then one more with each update; 0 for what only emerges.",
    ),
    Column("state", Text, nullable=False, comment="emerging, started, updated, ended or reopened."),
    Column("at", Time, nullable=False, comment="Stream time."),
    Column(
        "position", BigInteger, nullable=False, comment="Log position of the story, or of the tick, that caused it."
    ),
    Column("stories_in_window", Integer, nullable=False, comment="Stories in the window."),
    Column("stories_total", Integer, nullable=False, comment="Stories of the event by then."),
    Column("record", JSONB, nullable=False, comment="The update as it stands on the topic, but for `members`."),
    CheckConstraint(STATES, "state"),
    comment="Every update of every event: the log behind `events`.",
)

alert_profiles = Table(
    "alert_profiles",
    metadata,
    Column("event_id", Text, ForeignKey(events.c.id, ondelete="CASCADE"), primary_key=True, comment="The event."),
    Column("edition", Text, nullable=False, comment="Edition of the event."),
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
    Column("event_id", Text, ForeignKey(events.c.id, ondelete="CASCADE"), primary_key=True, comment="An event."),
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

stored_offsets = Table(
    "stored_offsets",
    metadata,
    Column(
        "topic",
        Text,
        primary_key=True,
        comment="The topic; empty in a row that says that what was stored before revision 0012 is not known.",
    ),
    Column("partition", Integer, primary_key=True, autoincrement=False, comment="The number of the partition."),
    Column("next_offset", BigInteger, nullable=False, comment="The offset after the last record that is stored."),
    Column(
        "missing_from",
        BigInteger,
        comment="The offset from which records are missing: an older copy of the database was restored. None if none are.",
    ),
    comment="How far each partition of a topic is stored.",
)

subscriptions = Table(
    "subscriptions",
    metadata,
    Column("id", Text, primary_key=True, comment="Its name."),
    Column(
        "kind",
        Text,
        nullable=False,
        comment="The form of what is sent: webhook, slack, mattermost, telegram or email.",
    ),
    Column("target", Text, nullable=False, comment="The URL, or the address of e-mail, that it is sent to."),
    Column("secret", Text, comment="The key that signs what is sent to a webhook."),
    Column("edition", Text, comment="Only events of this edition."),
    Column("publisher", Text, comment="Only events that this publisher reported."),
    Column("words", Text, comment="Only events whose headline has all of these words."),
    Column("publishers", Integer, nullable=False, comment="Only events with at least so many publishers."),
    Column(
        "states", ARRAY(Text), nullable=False, comment="The states that are told: started, updated, reopened, ended."
    ),
    Column("created_at", Time, nullable=False, comment="Since when it is told."),
    Column("failing_since", Time, comment="Since when nothing could be delivered; none while it works."),
    Column("parked_at", Time, comment="When it was given up: nothing is sent until it is resumed."),
    Column("parked_because", Text, comment="Why it was given up."),
    Column("ended_at", Time, comment="When it was cancelled."),
    CheckConstraint("kind IN ('webhook', 'slack', 'mattermost', 'telegram', 'email')", "kind"),
    comment="Who is told of events. Only who may change this table sees its rows.",
)

deliveries = Table(
    "deliveries",
    metadata,
    Column(
        "subscription_id",
        Text,
        ForeignKey(subscriptions.c.id, ondelete="CASCADE"),
        primary_key=True,
        comment="The subscription.",
    ),
    Column("event_id", Text, primary_key=True, comment="The event."),
    Column("sequence", Integer, primary_key=True, autoincrement=False, comment="The update of the event."),
    Column("state", Text, nullable=False, comment="Its state."),
    Column("reopened", Integer, nullable=False, comment="How often the event had broken again by then."),
    Column(
        "status",
        Text,
        nullable=False,
        comment="waiting; delivered; superseded: a later update took its place; dropped: it was not true any more when "
        "it could be sent.",
    ),
    Column("attempts", Integer, nullable=False, comment="How often it was sent."),
    Column("due_at", Time, nullable=False, comment="When it is sent next."),
    Column("changed_at", Time, nullable=False, comment="When this row was last changed."),
    Column("answer", Text, comment="The last answer, or why there was none."),
    Column("record", JSONB, comment="The update, until it has been delivered."),
    Index(None, "due_at", postgresql_where=text("status = 'waiting'")),
    Index(None, "changed_at"),
    CheckConstraint("status IN ('waiting', 'delivered', 'superseded', 'dropped')", "status"),
    comment="What was sent to subscriptions, and what waits to be sent.",
)

push_positions = Table(
    "push_positions",
    metadata,
    Column("partition", Integer, primary_key=True, autoincrement=False, comment="The partition."),
    Column("offset", BigInteger, nullable=False, comment="The offset of its next record."),
    comment="How far the topic of events has been read for subscriptions.",
)
