"""Labels: files that say something, and files that do not."""

import pytest

from pipeline.codec import InvalidRecord
from pipeline.evaluation.labels import Labels, read_labels


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "labels.csv"
        path.write_text(text)
        return read_labels(str(path))

    return read


def test_groups_are_read_where_there_are_any(read):
    assert read("story_id,event\na,A\nb,B\n") == Labels({"a": "A", "b": "B"}, {})
    assert read("event,story_id,group,note\nA,a,g,x\nA,b,h,y\n") == Labels({"a": "A", "b": "A"}, {"a": "g", "b": "h"})


def test_a_label_may_be_said_twice(read):
    assert read("story_id,event,group\na,A,g\na,A,g\n").events == {"a": "A"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id,label\na,b\n", "first line should name the columns story_id, event"),
        ("", "first line should name the columns story_id, event"),
        ("story_id,event\n", "holds no labels"),
        ("story_id,event\na,A\nb,\n", "line 3: `event` is empty"),
        ("story_id,event\na,A\nb\n", "line 3: `event` is empty"),
        ("story_id,event\n,A\n", "line 2: `story_id` is empty"),
        ("story_id,event,group\na,A, \n", "line 2: `group` is empty"),
        ("story_id,event\na,A\na,B\n", "line 3: story 'a' has the event 'B'; before, it had 'A'"),
        ("story_id,event,group\na,A,g\na,A,h\n", "line 3: story 'a' has the group 'h'; before, it had 'g'"),
        (
            "story_id,event,group\na,A,g\nb,B,g\n",
            "line 3: group 'g' is part of the event 'B'; before, it was part of 'A'",
        ),
    ],
)
def test_labels_that_say_nothing_or_contradict_are_refused(read, text, sentence):
    with pytest.raises(InvalidRecord) as caught:
        read(text)
    assert sentence in str(caught.value)
