"""The decisions of the two papers whose rules Newsburst is compared with; see `pipeline.stages.profiles`."""

from pipeline.records import Similar
from pipeline.similarity import minhash, simhash
from pipeline.similarity.buckets import Numbers
from pipeline.stages.choice import Choice
from pipeline.stages.clustering import Edition, Sketch
from pipeline.stages.scores import OPENED


def newshound(edition: Edition, candidates: tuple[Numbers, Numbers], sketch: Sketch) -> Choice:
    """All clusters with a story of at least 3 equal bands of 40 and a Jaccard similarity of .778 are one.

    The similarity is the share of equal positions of the signatures, an unbiased estimate. The paper compares signatures as
    sets, which is biased, and its worked values (.84 and .629) are far from the true ones (4/11 and 2/11).
    """
    rule, matchable = edition.rule, edition.matchable
    found = [
        (-minhash.similarity(sketch.signature, matchable.signatures[number]), number)
        for number, shared in zip(candidates[0].tolist(), candidates[1].tolist(), strict=True)
        if shared >= rule.similar_bands
    ]
    ranked = [(-score, number) for score, number in sorted(found) if -score >= rule.similar_at]
    linked = {_cluster_id(edition, number) for _, number in ranked}
    if not linked:
        return Choice(None, [], [], None)
    survivor = min(linked, key=lambda cluster_id: (edition.clusters[cluster_id].first, cluster_id))
    names = matchable.names(number for _, number in ranked)
    similar = [
        Similar(name, round(score, 4)) for name, (score, _) in zip(names[: rule.similar_kept], ranked, strict=False)
    ]
    copies = [matchable.original(number) for score, number in ranked if score == 1.0]
    return Choice(survivor, sorted(linked - {survivor}), similar, copies[0] if copies else None)


def hu_you(edition: Edition, candidates: tuple[Numbers, Numbers], fingerprint: int) -> Choice:
    """The story joins the cluster whose first story's fingerprint is nearest, at most 7 bits away.

    The paper counts the stories similar to one fingerprint; here that is the cluster's first. It says that N > d blocks
    guarantee a common block, and so misses pairs at 4 to 7 bits with its plans of 4 and 5 blocks
    (`pipeline.similarity.curve.block_recall`). It drops near-duplicates before it counts; an event that is carried by wire
    copies could then never break, so here they are kept and linked.
    """
    rule, matchable = edition.rule, edition.matchable
    found: list[tuple[int, int]] = []
    for number in candidates[0].tolist():
        bits = simhash.distance(fingerprint, matchable.items.print_of(number))
        if bits <= rule.similar_bits:
            found.append((bits, number))
    found.sort()
    leaders: list[tuple[int, int, str]] = []
    for cluster_id in {_cluster_id(edition, number) for _, number in found}:
        cluster = edition.clusters[cluster_id]
        bits = simhash.distance(fingerprint, cluster.print)
        if bits <= rule.similar_bits:
            leaders.append((bits, int(edition.facts[cluster.group, OPENED]), cluster_id))
    names = matchable.names(number for _, number in found)
    similar = [Similar(name, 1 - bits / simhash.BITS) for name, (bits, _) in zip(names[:10], found, strict=False)]
    copies = [matchable.original(number) for bits, number in found if bits <= rule.duplicate_bits]
    return Choice(min(leaders)[2] if leaders else None, [], similar, copies[0] if copies else None)


def _cluster_id(edition: Edition, number: int) -> str:
    return edition.in_group[edition.matchable.items.group_of(number)].id
