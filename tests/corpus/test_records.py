"""Records of files in each format, and the documents in them."""

import csv
import gzip
import io
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.codec import InvalidRecord
from pipeline.corpus.documents import Fields, parser
from pipeline.corpus.records import Record, Source, format_by_content, format_of, header, records

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def source(tmp_path, content, name="docs.jsonl", **of):
    path = tmp_path / name
    path.write_bytes(content)
    return Source(str(path), format_of(name), **of)


def read(of, fields=None):
    """Each record's line with its document, or what is wrong with it."""
    parse = parser(of, fields or Fields())
    found = []
    for record in records(of):
        try:
            found.append((record.line, parse(record)))
        except InvalidRecord as error:
            found.append((record.line, str(error)))
    return found


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.jsonl", "jsonl"),
        ("a.NDJSON.gz", "jsonl"),
        ("a.csv.zst", "csv"),
        ("a.tsv", "tsv"),
        ("a.txt", "lines"),
        ("archive", "lines"),
        ("x.2024.csv", "csv"),
    ],
)
def test_the_name_tells_the_format(name, form):
    assert format_of(name) == form


def test_what_has_no_name_is_known_by_its_first_bytes():
    assert format_by_content(b' {"a": 1}') == "jsonl"
    assert format_by_content(b"Some text") == "lines"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress], ids=["plain", "gzip", "zstd"])
def test_json_lines(tmp_path, pack):
    lines = b'{"id": 7, "title": "A", "body": "b"}\n\n{"url": "u", "text": "T"}\n{"headline": "H"}'
    assert read(source(tmp_path, pack(lines))) == [(1, (b"7", "A b")), (3, (b'"u"', "T")), (4, (b"", "H"))]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"[1]", "A JSON object is wanted; this is an array."),
        (b'{"id": 1}', "There is no field title, body or text."),
        (b'{"text": 5}', "The text is no string: it is a number."),
        (b'{"text": "a", "id": {}}', "The id is no string or number: it is an object."),
        (b'{"text": "a"', "Not JSON: "),
        (b'{"text": "\xff"}', "Not UTF-8: byte 0xff at 10."),
        (b'{"text": "\\ud800"}', "Not JSON: "),
    ],
)
def test_a_line_that_is_no_document_says_why(tmp_path, line, said):
    ((number, error), after) = read(source(tmp_path, line + b'\n{"text": "x"}\n'))
    assert number == 1
    assert error.startswith(said)
    assert after == (2, (b"", "x"))


def test_fields_can_be_named(tmp_path):
    of = source(tmp_path, b'{"key": "k", "a": "1", "b": "2", "text": "3"}\n{"a": "1"}\n{"key": 1, "text": "3"}\n')
    assert read(of, Fields("key", ("b", "a"))) == [
        (1, (b'"k"', "2 1")),
        (2, "There is no field key, which --id names."),
        (3, "There is no field b or a. --text names the fields of the text."),
    ]


def test_tsv_is_an_id_a_headline_and_a_text(tmp_path):
    of = source(tmp_path, b"2286\tRecovery excitement\tEmerging evidence\r\n\tno id\nno tab\n", "rcv1.tsv")
    assert read(of) == [
        (1, (b'"2286"', "Recovery excitement Emerging evidence")),
        (2, (b"", "no id")),
        (3, "There is no tab in it; a line is an id, a tab, and the text."),
    ]


def test_csv_has_rows_of_several_lines_and_loses_none_after_a_broken_one(tmp_path):
    rows = b'id,title,body\n1,"One, and",x\n2,"Two\nlines ""quoted""",y\n\n3,"never closed,z\n4,Four,w\n5,Five\n'
    of = source(tmp_path, rows, "docs.csv")
    assert read(of) == [
        (2, (b'"1"', "One, and x")),
        (3, (b'"2"', 'Two\nlines "quoted" y')),
        (6, "Not CSV: unexpected end of data."),
        (7, (b'"4"', "Four w")),
        (8, "There are 2 fields; the header has 3."),
    ]
    assert header(of) == b"id,title,body\n"
    assert b"".join(record.raw for record in records(of)) == rows.removeprefix(b"id,title,body\n").replace(
        b"\n\n", b"\n"
    )


def test_a_csv_file_without_the_columns_is_refused(tmp_path):
    of = source(tmp_path, b"a,b\n1,2\n", "docs.csv")
    with pytest.raises(InvalidRecord, match=r"there is no column title, body or text; there are a, b"):
        parser(of, Fields())
    with pytest.raises(InvalidRecord, match=r"there is no column c; there are a, b"):
        parser(of, Fields(text=("c",)))


def test_another_encoding(tmp_path):
    content = "id,text\n1,Müller\n".encode("latin-1")
    assert read(source(tmp_path, content, "docs.csv", encoding="latin-1")) == [(2, (b'"1"', "Müller"))]
    ((_, error),) = read(source(tmp_path, content, "docs.csv"))
    assert error == "Not UTF-8: byte 0xfc at 3. --encoding says what it is, such as latin-1."


cells = st.text(st.sampled_from('a,"\n é'), max_size=6)


@given(st.lists(st.tuples(cells, cells), max_size=6))
def test_any_csv_is_read_as_it_was_written(tmp_path_factory, rows):
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerows([("id", "text"), *rows])
    of = source(tmp_path_factory.mktemp("csv"), written.getvalue().encode(), "any.csv")
    assert [document for _, document in read(of)] == [(msgspec.json.encode(one), text) for one, text in rows]


def test_how_far_a_file_is_read_is_told(tmp_path):
    of = source(tmp_path, b"line\n" * 2_500, "many.txt")
    told = []
    found = list(records(of, told.append))
    assert (len(found), found[0]) == (2_500, Record(1, b"line\n"))
    assert told == sorted(told)
    assert len(told) == 2
