"""A small worker on our Transport, run by test_consumer: writes each offset that it is given to a file.

python counting_worker.py KAFKA NAME FILE
"""

import sys

import faust

from agents.transport.batches import Raw, batches
from agents.transport.chunks import ChunkScheduler
from agents.transport.consumer import Transport, stop_flow_before_seek


class App(faust.App):
    """A Faust app with our Transport."""

    def _new_transport(self):
        return Transport(self.conf.broker_consumer, self)


kafka, name, path = sys.argv[1:]
app = App(
    name,
    broker=f"kafka://{kafka}",
    store="memory://",
    web_enabled=False,
    topic_disable_leader=True,
    topic_allow_declare=False,
    ConsumerScheduler=ChunkScheduler,
    broker_commit_interval=0.3,
    broker_session_timeout=6.0,
    broker_heartbeat_interval=2.0,
    consumer_auto_offset_reset="earliest",
)
app.on_rebalance_complete.connect(stop_flow_before_seek, weak=False)


@app.agent(app.topic(f"{name}-source", schema=Raw()))
async def count(stream):
    with open(path, "a", encoding="utf-8") as seen:  # noqa: PTH123, ASYNC230 - a line for each record, at once
        async for records in batches(app, stream, 50):
            seen.writelines(f"{record.partition} {record.offset}\n" for record in records)
            seen.flush()


if __name__ == "__main__":
    sys.argv[1:] = []
    faust.Worker(app, loglevel="WARNING", redirect_stdouts=False, quiet=True).execute_from_commandline()
