"""Many texts at once: the same as one by one."""

import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.corpus.canonical import canonical
from pipeline.similarity import minhash, sign_texts, universal
from pipeline.similarity.buckets import band_keys
from pipeline.similarity.shingles import shingles

texts = st.lists(st.text(st.sampled_from("ab cé語"), max_size=30), max_size=8)
thorough = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@pytest.fixture(params=[True, False], ids=["compiled", "numpy"])
def _either_way(request, monkeypatch):
    monkeypatch.setattr(sign_texts, "COMPILED", sign_texts.COMPILED and request.param)


@pytest.mark.usefixtures("_either_way")
@given(texts, st.integers(1, 6), st.sampled_from(["characters", "words"]), st.integers(1, 5), st.integers(1, 40))
@thorough
def test_keys_sizes_and_signatures_are_those_of_each_text(raw, width, unit, bands, rows):
    found = [canonical(text, unit) for text in raw]
    scheme = sign_texts.Scheme(unit, width, bands, rows, bands * rows)
    signed = sign_texts.sign_texts(sign_texts.pack(found), scheme, keep=True)
    for number, text in enumerate(found):
        tokens = shingles(text, width, unit)
        signature = np.empty(bands * rows, np.uint32)
        minhash.sign_tokens(tokens, *universal.coefficients(bands * rows), signature)
        assert signed.sizes[number] == len(tokens)
        assert signed.signatures[number].tolist() == signature.tolist()
        assert signed.keys[:bands, number].tolist() == band_keys(signature, bands, rows).tolist()
        assert signed.keys[bands, number] == zlib.crc32(text.encode())


def test_signatures_of_as_many_rows_are_those_of_stories():
    scheme = sign_texts.Scheme("characters", 5, 20, 6, universal.ROWS)
    signed = sign_texts.sign_texts(sign_texts.pack(["a text like any other"]), scheme, keep=True)
    assert signed.signatures[0].tolist() == minhash.shingled("a text like any other", 5).tolist()


def test_more_rows_begin_with_those_of_fewer():
    few, many = universal.coefficients(10), universal.coefficients(200)
    assert [each.tolist() for each in few] == [each[:10].tolist() for each in many]
    assert many[0].min() > 0
