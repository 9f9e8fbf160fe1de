"""The rooms of the code and which imports which: `python -m tests.architecture` prints the diagram of docs/architecture.md."""

import sys

import grimp

ROOMS = {
    "agents": "agents: app, worker, one agent a stage",
    "agents.runtime": "agents/runtime: state, producer, dead letters, health",
    "agents.transport": "agents/transport: Faust's consumer, in chunks",
    "pipeline.cli": "pipeline/cli: the command newsburst",
    "pipeline.evaluation": "pipeline/evaluation: quality against labels",
    "pipeline.embedded": "pipeline/embedded: Kafka and Postgres without Docker",
    "pipeline.kafka": "pipeline/kafka: topics, readers, changelogs",
    "pipeline.storage": "pipeline/storage: Postgres, filters",
    "pipeline.crawl": "pipeline/crawl: stories from feeds",
    "pipeline.push": "pipeline/push: webhooks, chats, mail",
    "pipeline.web": "pipeline/web: pages, API, feeds",
    "pipeline.corpus": "pipeline/corpus: near-duplicates in files",
    "pipeline.files": "pipeline/files: stories from files",
    "pipeline.config": "pipeline/config: settings",
    "pipeline.replay": "pipeline/replay: all stages, without Kafka",
    "pipeline.stages.cluster": "pipeline/stages/cluster",
    "pipeline.stages.detect": "pipeline/stages/detect",
    "pipeline.stages": "pipeline/stages: normalise, fingerprint, rules",
    "pipeline.languages": "pipeline/languages: words, publishers",
    "pipeline.similarity": "pipeline/similarity: MinHash, SimHash, buckets",
    "pipeline.records": "pipeline/records, codec, printed, times",
}
"""What each room holds, by its package."""
BESIDE = {
    "pipeline.archive": "pipeline.replay",
    "pipeline.codec": "pipeline.records",
    "pipeline.filters": "pipeline.storage",
    "pipeline.pictures": "pipeline.records",
    "pipeline.printed": "pipeline.records",
    "pipeline.retry_after": "pipeline.records",
    "pipeline.times": "pipeline.records",
    "pipeline.lines": "pipeline.files",
    "pipeline.schemas": "pipeline.files",
    "pipeline.command": "pipeline.cli",
    "pipeline.logs": "pipeline.config",
    "pipeline.settings": "pipeline.config",
    "pipeline.warm_up": "pipeline.replay",
}
"""Modules that stand in the room of another."""


def room_of(module):
    """The room that a module is in."""
    for whole, room in BESIDE.items():
        if module == whole:
            return room
    inside = [room for room in ROOMS if module == room or module.startswith(f"{room}.")]
    return max(inside, key=len, default=None)


def arrows():
    """Which room imports which, without those that follow from others."""
    graph = grimp.build_graph("pipeline", "agents", cache_dir=None)
    known = {room: set() for room in ROOMS}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            here, there = room_of(module), room_of(imported)
            if here and there and here != there:
                known[here].add(there)

    def reached(room, seen):
        for there in known[room]:
            if there not in seen:
                seen.add(there)
                reached(there, seen)
        return seen

    return [
        (here, there)
        for here in ROOMS
        for there in ROOMS
        if there in known[here] and not any(there in reached(between, set()) for between in known[here] - {there})
    ]


def drawing():
    """The diagram, in the language of Mermaid."""
    names = {room: room.replace(".", "_") for room in ROOMS}
    return "\n".join(
        [
            "graph TD",
            *(f'    {names[room]}["{words}"]' for room, words in ROOMS.items()),
            *(f"    {names[here]} --> {names[there]}" for here, there in arrows()),
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(drawing() + "\n")
