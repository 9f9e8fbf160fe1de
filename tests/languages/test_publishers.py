"""Publishers: families, and what headlines lose of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.languages.publishers import cut_publisher, family


@pytest.mark.parametrize(
    "names",
    [
        ("Reuters", "Reuters UK", "Reuters Canada", "Reuters (press release)", "reuters.com", "www.reuters.com"),
        ("The Guardian", "The Guardian (blog)", "theguardian.com", "Guardian", "Guardian US"),
        ("BBC News", "BBC", "BBC Sport", "news.bbc.co.uk", "bbc.com"),
        ("Wall Street Journal", "The Wall Street Journal", "Wall Street Journal (blog)", "WSJ", "blogs.wsj.com"),
        (
            "International Business Times",
            "International Business Times UK",
            "International Business Times, India Edition",
        ),
        ("Digital Spy", "Digital Spy UK"),
        ("Telegraph.co.uk", "The Telegraph", "Daily Telegraph"),
        ("New York Times", "The New York Times", "nytimes.com", "NYTimes"),
    ],
)
def test_feeds_of_one_publisher_are_one_family(names):
    assert len({family(name) for name in names}) == 1, {name: family(name) for name in names}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Times of India", "Times of Malta"),
        ("The Hill", "The Week"),
        ("Gulf News", "Gulf Times"),
        ("CBS News", "NBC News"),
        ("Daily Mail", "Daily Mirror"),
        ("Irish Independent", "The Independent"),
        ("USA TODAY", "Today"),
        ("a.example.com", "a.beispiel.com"),
    ],
)
def test_different_publishers_are_different_families(one, other):
    assert family(one) != family(other)


@given(st.text(min_size=1, max_size=60).filter(str.strip))
def test_every_publisher_has_a_family_and_it_is_stable(name):
    assert family(name)
    assert family(name.upper()) == family(name.upper().casefold())


@pytest.mark.parametrize(
    ("title", "publisher", "headline"),
    [
        ("Quake hits city - The Daily", "The Daily", "Quake hits city"),
        ("Quake hits city | THE DAILY", "The Daily", "Quake hits city"),
        ("Quake - the latest", "The Daily", "Quake - the latest"),
        ("The Daily", "The Daily", "The Daily"),
        ("Opinion | Why the quake matters - The New York Times", "New York Times", "Why the quake matters"),
        ("Quake hits city - BBC News", "bbc.co.uk", "Quake hits city"),
        ("Quake hits city - Reuters", "Yahoo News", "Quake hits city"),
        ("VIDEO: Quake hits city", "The Daily", "Quake hits city"),
        ("Quake hits city | Video | The Guardian", "The Guardian", "Quake hits city"),
        ("UPDATE 1: Quake hits city", "Reuters", "Quake hits city"),
        ("Reuters - Quake hits city", "Reuters", "Quake hits city"),
        ("Obama: we must act", "The Daily", "Obama: we must act"),
        ("Spider-Man 2 - a review", "The Daily", "Spider-Man 2 - a review"),
        ("Video", "The Daily", "Video"),
        ("News - Reuters", "Reuters", "News - Reuters"),
    ],
)
def test_headlines_lose_what_their_publisher_added(title, publisher, headline):
    assert cut_publisher(title, publisher) == headline


@given(st.text(max_size=80), st.text(min_size=1, max_size=20).filter(str.strip))
def test_a_headline_is_never_lost(title, publisher):
    cut = cut_publisher(title, publisher)
    assert cut in title
    assert bool(cut) == bool(title)
