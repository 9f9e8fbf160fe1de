"""Answers that many readers share."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipeline.web import source
from pipeline.web.source import KEPT_ANSWERS, Kept


@pytest.fixture
def kept():
    made = Kept()
    yield made
    made.close()


def test_many_who_ask_at_once_have_one_answer(kept):
    asked = []
    begun = threading.Event()

    def ask():
        asked.append(1)
        begun.wait(5)
        return len(asked)

    with ThreadPoolExecutor(10) as threads:
        answers = [threads.submit(kept.answer, "question", 60, ask) for _ in range(10)]
        begun.set()
        assert {answer.result() for answer in answers} == {1}


def test_an_old_answer_is_given_while_it_is_asked_for_again(kept, monkeypatch):
    assert kept.answer("question", 0, lambda: "old") == "old"
    asking, may_answer = threading.Event(), threading.Event()

    def ask():
        asking.set()
        may_answer.wait(5)
        return "new"

    assert kept.answer("question", 0, ask) == "old"
    assert asking.wait(5)
    may_answer.set()
    monkeypatch.setattr(source, "STALE_S", 0)
    assert kept.answer("question", 0, lambda: "newest") in {"new", "newest"}


def test_an_error_is_raised_and_not_kept(kept):
    def fail():
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - any will do
        kept.answer("question", 60, fail)
    assert kept.answer("question", 60, lambda: "well") == "well"


def test_answers_do_not_pile_up(kept):
    for number in range(KEPT_ANSWERS * 2):
        kept.answer(number, 60, lambda: "answer")
    assert len(kept._answers) <= KEPT_ANSWERS
