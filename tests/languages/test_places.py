"""Places: countries are found in headlines of many languages, with the endings that they take there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.languages.places import places


@pytest.mark.parametrize(
    ("language", "headline", "named"),
    [
        ("en", "Quake hits southern Peru", {"PE"}),
        ("de", "Peruanische Regierung ruft Notstand aus", {"PE"}),
        ("es", "Terremoto en el Perú", {"PE"}),
        ("ru", "Землетрясение произошло на юге Перу", {"PE"}),
        ("ru", "Иранские власти", {"IR"}),
        ("ar", "زلزال يضرب إيران", {"IR"}),
        ("ja", "ペルー南部で地震", {"PE"}),
        ("zh", "秘鲁发生地震", {"PE"}),
        ("zh", "秘魯發生地震", {"PE"}),  # traditional signs
        ("ko", "페루서 지진", {"PE"}),
        ("hi", "पेरू में भूकंप", {"PE"}),
        ("fr", "Séisme à Téhéran", {"IR"}),  # a city
        ("sv", "Demonstrationer i Bratislava", {"SK"}),
        ("nb", "Jordskjelv i Hellas", {"GR"}),
        ("no", "Jordskjelv i Hellas", {"GR"}),
        ("en", "Germany and France sign", {"DE", "FR"}),
        ("en", "Budget passes parliament", set()),
        ("xx", "Peru", set()),  # a language without names
    ],
)
def test_a_headline_names_countries(language, headline, named):
    assert places(headline, language) == named


@given(st.text(max_size=200), st.sampled_from(["en", "de", "ru", "ar", "zh", "ja", "th", "xx"]))
def test_any_text_names_codes_of_two_letters(text, language):
    assert all(len(code) == 2 and code.isupper() for code in places(text, language))
