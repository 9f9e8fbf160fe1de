"""Profiles: three sets of rules on one engine, so that they can be compared on the same stories.

- `newsburst`: learned scores on TF-IDF vectors, clusters that merge, events that renew.
- `newshound`: "Clustering news stories at scale" (Newshound): bags of words, 120 MinHash values in 40 bands of 3 rows, XOR band
  hash, at least 3 equal bands and a Jaccard similarity of at least .778; clusters are all that is linked.
- `hu-you`: "General Simhash-based Framework for News Aggregators" (Hu and You 2017): 64-bit SimHash on TF-IDF vectors,
  near-duplicates to 3 bits and similar stories to 7, all of which are found; a cluster is what is similar to one fingerprint, its
  first.

The papers' rules know no publishers, and no second event of a cluster.
"""

from dataclasses import replace
from typing import Literal, get_args

from pipeline.stages.rules import ClusterRule, DetectRule

Profile = Literal["newsburst", "newshound", "hu-you"]
PROFILES: tuple[Profile, ...] = get_args(Profile)

WHOLE_BUCKET = 200
"""Newshound keeps buckets whole; here they are bounded, at far more than headlines fill."""


def cluster_rule(profile: Profile, rule: ClusterRule) -> ClusterRule:
    """The rule of a profile, with the look-back of `rule`."""
    if profile == "newshound":
        return replace(
            rule,
            profile=profile,
            bands=40,
            rows=3,
            bucket_capacity=WHOLE_BUCKET,
            similar_bands=3,
            similar_at=0.778,
        )
    if profile == "hu-you":
        return replace(rule, profile=profile, bands=0)  # it has an index of its own
    return rule


def detect_rule(profile: Profile, rule: DetectRule) -> DetectRule:
    """The rule of a profile, with the threshold, window and look-back of `rule`."""
    return rule if profile == "newsburst" else replace(rule, min_publishers=1, renew_at=1.0)


def stems(profile: Profile) -> bool:
    """Whether a profile compares stems, or words as they stand: Newshound's bags of words."""
    return profile != "newshound"
