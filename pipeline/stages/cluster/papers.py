"""The decisions of the two papers whose rules Newsburst is compared with; see `pipeline.stages.profiles`."""

import numpy as np

from pipeline.records import Similar
from pipeline.similarity import minhash, simhash
from pipeline.similarity.buckets import query
from pipeline.similarity.items import groups_of, simhashes_of
from pipeline.stages.cluster.choice import Choice
from pipeline.stages.cluster.state import ClusterState, Sketch


def newshound(state: ClusterState, sketch: Sketch) -> Choice:
    """All clusters with a story of at least 3 equal bands of 40 and a Jaccard similarity of .778 are one.

    The similarity is the share of equal positions of the signatures, an unbiased estimate. The paper compares signatures as
    sets, which is biased, and its worked values (.84 and .629) are far from the true ones (4/11 and 2/11).
    """
    rule, index, window = state.rule, state.index, state.window
    numbers, shared = np.empty((2, rule.bands * rule.bucket_capacity), np.int64)
    count = query(window.buckets, sketch.keys, numbers, shared) if sketch.headline_length else 0
    found = [
        (-minhash.similarity(sketch.signature, index.signatures[number]), number)
        for number in sorted(numbers[:count][shared[:count] >= rule.similar_bands].tolist())
    ]
    ranked = [(-score, number) for score, number in sorted(found) if -score >= rule.similar_at]
    groups = groups_of(window.items, np.array([number for _, number in ranked], np.int64)).tolist()
    linked = {state.in_group[group].id for group in groups}
    if not linked:
        return Choice(None, [], [], None)
    survivor = min(linked, key=lambda cluster_id: (state.clusters[cluster_id].first, cluster_id))
    names = index.names(number for _, number in ranked)
    similar = [
        Similar(name, round(score, 4)) for name, (score, _) in zip(names[: rule.similar_kept], ranked, strict=False)
    ]
    identical = [index.original(number) for score, number in ranked if score == 1.0]
    return Choice(survivor, sorted(linked - {survivor}), similar, identical[0] if identical else None)


def hu_you(state: ClusterState, sketch: Sketch) -> Choice:
    """The story joins the cluster whose first story's fingerprint is nearest, at most 7 bits away.

    The paper counts the stories similar to one fingerprint; here that is the cluster's first. It says that N > d blocks
    guarantee a common block, and so misses pairs at 4 to 7 bits with its plans of 4 and 5 blocks
    (`pipeline.similarity.curve.block_recall`); here all pairs are found, as it means to. It drops near-duplicates before it
    counts; an event that one wire story carries could then never break, so here they are kept and linked.
    """
    rule, index, nearby = state.rule, state.index, state.index.nearby
    assert nearby is not None
    if not sketch.headline_length:
        return Choice(None, [], [], None)
    numbers = nearby.within(rule.similar_bits, sketch.simhash)
    bits = np.bitwise_count(simhashes_of(state.window.items, numbers) ^ np.uint64(sketch.simhash)).astype(np.int64)
    order = np.lexsort((numbers, bits))
    leaders: list[tuple[int, int, str]] = []
    for group in np.unique(groups_of(state.window.items, numbers)).tolist():
        cluster = state.in_group[group]
        apart = simhash.distance(sketch.simhash, cluster.simhash)
        if apart <= rule.similar_bits:
            leaders.append((apart, cluster.opened, cluster.id))
    nearest = order[: rule.similar_kept]
    similar = [
        Similar(name, 1 - apart / simhash.BITS)
        for name, apart in zip(index.names(numbers[nearest].tolist()), bits[nearest].tolist(), strict=True)
    ]
    duplicates = numbers[order][bits[order] <= rule.duplicate_bits]
    duplicate_of = index.original(int(duplicates[0])) if len(duplicates) else None
    return Choice(min(leaders)[2] if leaders else None, [], similar, duplicate_of)
