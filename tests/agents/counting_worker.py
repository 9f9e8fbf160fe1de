"""A small Faust worker with one table, run by test_faust_fixes: writes each offset that it is given to a file.

python counting_worker.py KAFKA NAME FILE stock|corrected
"""

import sys

import faust

from agents.faust_fixes import correct_faust

kafka, name, path, kind = sys.argv[1:]
app = faust.App(
    name,
    broker=f"kafka://{kafka}",
    store="memory://",
    web_enabled=False,
    topic_disable_leader=True,
    topic_allow_declare=False,
    table_standby_replicas=0,
    stream_recovery_delay=0.0,
    broker_commit_interval=0.3,
    broker_session_timeout=6.0,
    broker_heartbeat_interval=2.0,
)
if kind == "corrected":
    correct_faust(app)
raw = {"key_type": bytes, "key_serializer": "raw", "value_type": bytes, "value_serializer": "raw"}
counts = app.Table("counts", key_type=bytes, value_type=bytes)


@app.agent(app.topic(f"{name}-source", **raw))
async def count(stream):
    with open(path, "a", encoding="utf-8") as seen:  # noqa: PTH123, ASYNC230 - a line for each record, at once
        async for event in stream.events():
            counts[event.message.value] = b"1"
            seen.write(f"{event.message.partition} {event.message.offset}\n")
            seen.flush()


if __name__ == "__main__":
    sys.argv[1:] = []
    faust.Worker(app, loglevel="WARNING", redirect_stdouts=False, quiet=True).execute_from_commandline()
