"""The rules of the stages: what decides, and how long things are kept. Times are in microseconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from pipeline.stages.weights import log_odds
from pipeline.times import DAY, HOUR


class Split(NamedTuple):
    """How the stories of a language are shared among several editions."""

    field: str
    """of the story: `language`, or a field of the producer's own"""
    parts: Mapping[str, str]
    """by a value of the field, in small letters, the part that its stories belong to"""


@dataclass(frozen=True, slots=True)
class NormaliseRule:
    """How stories are made comparable, and which edition they belong to."""

    language: str = "en"
    """of a story that names none, and whose text does not tell"""
    stems: bool = True
    """whether tokens are stems; else they are the words themselves"""
    splits: Mapping[str, Split] = field(default_factory=dict)
    """by language; those that are not here have one edition each"""


@dataclass(frozen=True, slots=True)
class ClusterRule:
    """How stories are matched and clusters kept; times in microseconds."""

    profile: str = "newsburst"
    """which rules decide: see `pipeline.stages.profiles`"""
    look_back: int = 96 * HOUR
    """how long a story can be matched, and how long a cluster lives after its last story"""
    longest_life: int = 14 * DAY
    """how long after its first story a cluster takes in stories"""
    largest: int = 30_000
    """the most stories it takes in: the sums of its vectors have no room for many more (see `pipeline.similarity.centroids`)"""
    bands: int = 60
    rows: int = 1
    bucket_capacity: int = 5
    least_cosine: float = 0.08
    """below it, with decay, a cluster is not considered"""
    decay: int = 24 * HOUR
    """in the choice of clusters to score, cosine falls by e in this time without a story"""
    considered: int = 4
    """clusters that get a join score"""
    join_at: float = 0.5
    weak_join_at: float = 0.35
    """... in a language of which only a weak background is known"""
    signs_join_at: float = 0.4
    """... in one whose single signs count as words (Chinese): those are shared by chance more often"""
    acquainted_at: int = 50
    """while an edition has fewer stories, one shared word that the background holds is not enough to join: it may be common"""
    merge_candidate_at: float = 0.3
    """join probability from which another cluster is considered for a merge"""
    merge_at: float = 0.55
    duplicate_at: float = 0.8
    """Jaccard similarity from which a story is a near-duplicate, whatever else"""
    duplicate_bits: int = 3
    """SimHash distance up to which it is one ..."""
    duplicate_bits_at: float = 0.6
    """... with at least this Jaccard similarity: both sketches agree"""
    duplicate_beginning: int = 5
    """or when one's tokens, at least so many, are the beginning of the other's ..."""
    duplicate_least: float = 0.4
    """... and at least this share of them"""
    similar_bits: int = 7
    """SimHash distance up to which stories are similar, where that is the rule"""
    similar_at: float = 0.25
    """least Jaccard similarity of a similar story"""
    similar_bands: int = 6
    """... and the bands it must share to be looked at"""
    similar_kept: int = 10
    spread_prior: float = 50.0
    """added to the spread of an edition (see `pipeline.similarity.centroids`), of which the spread of a word is a share"""
    common_share: float = 0.09
    """from what share on a word is common: below it are the words of single events"""
    lead_weight: float = 0.25
    """what a word of the body's beginning weighs against one of the headline"""
    body_bands: int = 24
    body_rows: int = 5
    """bands and rows of the bucket tables of bodies: P(candidate) is .06 at Jaccard similarity .3 and .9999 at .8"""
    body_copy_at: float = 0.7
    """Jaccard similarity of bodies from which a story is a near-duplicate, whatever its headline"""


class MatchRule(NamedTuple):
    """What the kernels need of a ClusterRule, under its names; probabilities as log-odds."""

    bands: int
    rows: int
    bucket_capacity: int
    look_back: int
    longest_life: int
    largest: int
    decay: int
    least_cosine: float
    considered: int
    acquainted_at: int
    join_from: float
    merge_candidate_from: float
    merge_from: float
    similar_bands: int
    similar_at: float
    similar_kept: int
    duplicate_at: float
    duplicate_bits: int
    duplicate_bits_at: float
    duplicate_beginning: int
    duplicate_least: float
    spread_prior: float
    common_share: float
    lead_weight: float


def match_rule(rule: ClusterRule, *, weak: bool, signs: bool = False) -> MatchRule:
    """The part of a rule by which the kernels match, in a language with a weak background, or in one whose single signs count."""
    values: dict[str, Any] = {name: getattr(rule, name) for name in MatchRule._fields if hasattr(rule, name)}
    return MatchRule(
        **values,
        join_from=log_odds(rule.signs_join_at if signs else rule.weak_join_at if weak else rule.join_at),
        merge_candidate_from=log_odds(rule.merge_candidate_at),
        merge_from=log_odds(rule.merge_at),
    )


@dataclass(frozen=True, slots=True)
class DetectRule:
    """When a cluster breaks; times in microseconds."""

    threshold: int = 15
    """more stories than this ..."""
    window: int = 4 * HOUR
    """... within this time ..."""
    min_publishers: int = 10
    """... from at least this many publishers: one publisher's flood is no event"""
    renew_at: float = 0.9
    """probability from which a second burst of a cluster is another event"""
    look_back: int = 96 * HOUR
    """how long the stories of a cluster without new ones are kept; as in ClusterRule"""
    emerging_threshold: int = 0
    """a cluster emerges, once, with more stories than this; 0: none does"""
    emerging_window: int = 2 * HOUR
    emerging_publishers: int = 4


def emerging_rule(rule: DetectRule) -> DetectRule | None:
    """The rule by which clusters emerge, as one by which they break; None if none does."""
    if not rule.emerging_threshold:
        return None
    return replace(
        rule, threshold=rule.emerging_threshold, window=rule.emerging_window, min_publishers=rule.emerging_publishers
    )
