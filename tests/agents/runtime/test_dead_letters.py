"""Dead letters are counted by what is wrong, without its values."""

import pytest
from aiokafka.structs import ConsumerRecord
from prometheus_client import REGISTRY

from agents.runtime.dead_letters import dead_letter, work_through
from pipeline.codec import InvalidRecord
from pipeline.kafka.dead_letters import kind
from tests.integration.records import dead


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("`url` is no address of the web: 'nowhere: at all'; it should be.", "`url` is no address of the web"),
        (
            "`crawled_at` is more than a day after the story was received (2026-11-21T09:30:01+00:00): 2100",
            "`crawled_at` is more than a day after the story was received ...",
        ),
        (
            "`id` holds the character U+0000, which cannot be seen: 'a'.",
            "`id` holds the character ..., which cannot be seen",
        ),
        ("`klingon` is no language tag: use `en` or `pt-BR`.", "... is no language tag"),
        ("Wrong Fingerprint: story.tokens[17]: Expected `str`, got `int`.", "Wrong Fingerprint: story.tokens[]"),
        ("Not JSON in UTF-8: invalid character (byte 3).", "Not JSON in UTF-8"),
        ("Postgres refuses it: invalid byte sequence: 0x00", "Postgres refuses it"),
        ("ZeroDivisionError: division by zero", "ZeroDivisionError"),
    ],
)
def test_what_is_wrong_is_counted_without_the_values(error, words):
    assert kind(error) == words
    message = ConsumerRecord("t", 0, 5, 0, 0, None, None, None, 0, 0, ())
    labels = {"stage": "tried", "cause": "invalid", "reason": words}
    before = REGISTRY.get_sample_value("newsburst_dead_letters_total", labels) or 0
    dead_letter("tried", message, InvalidRecord(error))
    assert REGISTRY.get_sample_value("newsburst_dead_letters_total", labels) == before + 1


def test_what_is_invalid_and_what_a_stage_failed_on_are_counted_apart():
    def work(record):
        if record.offset:
            raise InvalidRecord("Not JSON")
        raise ZeroDivisionError

    records = [ConsumerRecord("t", 0, offset, 0, 0, None, None, None, 0, 0, ()) for offset in (0, 1, 2)]
    before, messages = (dead("invalid"), dead("failed")), []
    assert work_through("tried", records, work, messages, 1.0) == {"dead": 3}
    assert (dead("invalid"), dead("failed")) == (before[0] + 2, before[1] + 1)
    assert len(messages) == 3


@pytest.mark.parametrize("error", [FileNotFoundError("words.json"), ModuleNotFoundError("regex")])
def test_what_is_wrong_with_the_machine_makes_no_dead_letters(error):
    def work(_):
        raise error

    messages = []
    with pytest.raises(type(error)):
        work_through("tried", [ConsumerRecord("t", 0, 0, 0, 0, None, None, None, 0, 0, ())], work, messages, 1.0)
    assert messages == []
