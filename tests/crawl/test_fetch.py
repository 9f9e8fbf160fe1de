"""Fetching politely, and from public addresses only."""

import asyncio
import gzip
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from pipeline.crawl import fetch as fetching
from pipeline.crawl.fetch import LARGEST, Fetcher, NotFetched, check_address, check_url, web_url


def fetch(url, *arguments, private=True):
    async def run():
        async with Fetcher(private=private) as fetcher:
            return await fetcher.fetch(url, *arguments)

    return asyncio.run(run())


def refused(url, **options):
    with pytest.raises(NotFetched) as error:
        fetch(url, **options)
    return str(error.value)


def test_what_has_not_changed_is_not_fetched_again(feeds):
    feeds.answers["/rss"] = lambda headers: (
        (304, {}, b"")
        if headers["If-None-Match"] == '"1"'
        else (200, {"ETag": '"1"', "Last-Modified": "yesterday"}, b"<rss/>")
    )
    first = fetch(f"{feeds.url}/rss")
    assert (first.body, first.etag, first.modified) == (b"<rss/>", '"1"', "yesterday")
    again = fetch(f"{feeds.url}/rss", first.etag, first.modified)
    assert (again.body, again.etag, again.modified) == (None, '"1"', "yesterday")
    assert "Newsburst" in feeds.asked[-1][1]["User-Agent"]


def test_robots_are_asked_and_obeyed(feeds):
    feeds.answers |= {
        "/robots.txt": (200, {}, b"User-agent: *\nDisallow: /private\nUser-agent: Newsburst\nDisallow: /no"),
        "/no/rss": (200, {}, b"<rss/>"),
        "/private/rss": (200, {}, b"<rss/>"),
    }
    assert "robots.txt does not allow it" in refused(f"{feeds.url}/no/rss")
    assert fetch(f"{feeds.url}/private/rss").body == b"<rss/>"
    assert "/no/rss" not in feeds.paths()
    feeds.answers["/robots.txt"] = (500, {}, b"")
    assert "robots.txt: the server says 500" in refused(f"{feeds.url}/private/rss")


def test_redirects_are_followed_but_not_in_circles(feeds):
    feeds.answers |= {
        "/a": (301, {"Location": "/b"}, b""),
        "/b": (302, {"Location": f"{feeds.url}/c"}, b""),
        "/c": (200, {}, b"<rss/>"),
        "/loop": (302, {"Location": "/loop"}, b""),
        "/file": (302, {"Location": "file:///etc/passwd"}, b""),
    }
    assert fetch(f"{feeds.url}/a").url == f"{feeds.url}/c"
    assert "redirects" in refused(f"{feeds.url}/loop")
    assert refused(f"{feeds.url}/file")


def test_huge_and_slow_feeds_are_cut_off(feeds, monkeypatch):
    feeds.answers["/huge"] = (200, {}, b"x" * (LARGEST + 1))
    feeds.answers["/bomb"] = (200, {"Content-Encoding": "gzip"}, gzip.compress(b"\0" * (LARGEST * 10)))
    assert "larger than" in refused(f"{feeds.url}/huge")
    assert refused(f"{feeds.url}/bomb")
    monkeypatch.setattr(fetching, "TIMEOUT_S", 0.5)
    feeds.answers["/slow"] = (200, {"Content-Length": "100"}, b"x")
    assert "no answer" in refused(f"{feeds.url}/slow")


def test_errors_say_what_the_server_said(feeds):
    feeds.answers["/busy"] = (429, {"Retry-After": "1200"}, b"")
    with pytest.raises(NotFetched, match="429") as error:
        fetch(f"{feeds.url}/busy")
    assert error.value.after.total_seconds() == 1200


def test_robots_are_read_through_redirects_and_marks_and_to_their_first_part(feeds):
    rules = b"\xef\xbb\xbfUser-agent: *\nDisallow: /secret\n"
    feeds.answers |= {
        "/robots.txt": (301, {"Location": "/other.txt"}, b""),
        "/other.txt": (200, {}, rules + b"# padding\n" * 100_000),
        "/rss": (200, {}, b"open"),
    }
    assert "robots.txt" in refused(f"{feeds.url}/secret")
    assert fetch(f"{feeds.url}/rss").body == b"open"


def test_a_server_says_until_when_it_wants_to_be_left_alone(feeds):
    until = datetime.now(UTC) + timedelta(hours=2)
    feeds.answers["/rss"] = (503, {"Retry-After": format_datetime(until, usegmt=True)}, b"")
    with pytest.raises(NotFetched) as error:
        fetch(f"{feeds.url}/rss")
    assert timedelta(minutes=119) < error.value.after <= timedelta(hours=2)


def test_passwords_of_addresses_are_not_handed_on(feeds):
    feeds.answers["/rss"] = (200, {}, b"open")
    assert fetch(f"http://bob:hunter2@127.0.0.1:{feeds.port}/rss").url == f"{feeds.url}/rss"


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "0.0.0.0", "::1", "fe80::1%eth0", "::ffff:10.0.0.1", "224.0.0.1",
     "100.64.0.1", "fd00::1", "2002:7f00:1::"],
)  # fmt: skip
def test_addresses_that_are_not_public_are_refused(address):
    with pytest.raises(NotFetched, match="public"):
        check_address(address)


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://[::1]/", "ftp://a.example/", "http://a.example:22/", "http:///x", "http://a.example:99999/",
     "http://169.254.169.254/latest/meta-data", "http://127\u30020\u30020\u30021/", "http://\u2460\u2461\u2466.0.0.1/",
     "http://\uff11\uff12\uff17.0.0.1/"],
)  # fmt: skip
def test_urls_that_are_not_of_the_public_web_are_refused(url):
    with pytest.raises(NotFetched):
        check_url(web_url(url))


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f.1"])
def test_names_that_lead_to_this_network_are_refused(feeds, monkeypatch, host):
    monkeypatch.setattr(fetching, "PORTS", frozenset({feeds.port}))
    assert refused(f"http://{host}:{feeds.port}/rss", private=False)
    assert feeds.asked == []


def test_a_redirect_to_this_network_is_refused(feeds, monkeypatch):
    allowed = check_address
    monkeypatch.setattr(fetching, "PORTS", frozenset({feeds.port}))
    monkeypatch.setattr(fetching, "check_address", lambda address: None if address == "127.0.0.1" else allowed(address))
    feeds.answers["/rss"] = (302, {"Location": f"http://127.0.0.2:{feeds.port}/secret"}, b"")
    feeds.answers["/secret"] = (200, {}, b"secret")
    assert "127.0.0.2 is not a public address" in refused(f"http://127.0.0.1:{feeds.port}/rss", private=False)
    assert "/secret" not in feeds.paths()


def test_a_name_that_leads_elsewhere_the_second_time_is_refused(feeds, monkeypatch):
    monkeypatch.setattr(fetching, "PORTS", frozenset({feeds.port}))
    found = [[(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", feeds.port))]] * 3
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found.pop())
    assert "public" in refused(f"http://rebinding.example:{feeds.port}/rss", private=False)
