"""URLs: one form for what differs between visits, and a key that is the same for what readers know to be the same page."""

import re
import unicodedata
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from pipeline.codec import InvalidRecord
from pipeline.records import MAX_URL

_CANONICAL = re.compile(r"https?://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/[!\"$-;=@-Z\\^-~]*")
"""Most URLs: a host in small letters and a path, and nothing that would have to go."""
_TRACKING = re.compile(r"utm_.*|fbclid|gclid|dclid|msclkid|yclid|mc_[ce]id|igshid|ocid|cmpid|ns_.*", re.IGNORECASE)
_HOST = re.compile(r"[\w.-]+|[0-9a-f:.]+")
_VARIANTS = re.compile(r"^(?:(?:www\d?|m|mobile|amp)\.)+(?=[^.]+\.)")
"""Names before a host that stand for the same site."""
_AMP = re.compile(r"^/amp(?=/.)|(?:/amp|\.amp|/amp\.html)$")
_PLAIN = re.compile(
    r"https?://(?:www\.(?=[a-z0-9-]+\.))?((?!www|m\.|mobile\.|amp\.)[a-z0-9.-]+"
    r"/(?!amp/)(?!.*amp(?:\.html)?/*(?:\?|$))[!\"$&-;=@-Z\\^-~]*)(\?(?!.*(?i:amp))[!-~]*)?"
)
"""Most URLs: of their key only `www.` and slashes at the end have to go."""
_AMP_PARAMETERS = frozenset(
    [("amp", ""), ("amp", "1"), ("amp", "true"), ("outputtype", "amp"), ("outputtype", "default-article")]
)


def canonical_url(url: str) -> str:
    """The URL without what differs between visits: tracking parameters, fragment, default port, case of the host.

    What cannot be seen, such as marks that turn the direction of writing, is percent-encoded.
    Raises InvalidRecord if it is not an absolute http or https URL.
    """
    if _CANONICAL.fullmatch(url):
        return url
    try:
        parts = urlsplit("".join(map(_seen, url.strip())))
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme.lower() not in {"http", "https"} or not _HOST.fullmatch(host):
        raise InvalidRecord(
            f"`url` is no address of the web: {url[:200]!r}; it should begin with https:// or http:// and a host."
        )
    scheme = parts.scheme.lower()
    if ":" in host:
        host = f"[{host}]"
    if port is not None and port != {"http": 80, "https": 443}[scheme]:
        host = f"{host}:{port}"
    query = parts.query
    if query:
        pairs = parse_qsl(query, keep_blank_values=True)
        kept = [(name, value) for name, value in pairs if not _TRACKING.fullmatch(name)]
        if len(kept) < len(pairs):
            query = urlencode(kept)
    made = urlunsplit((scheme, host, parts.path or "/", query, ""))
    if len(made) > MAX_URL:
        raise InvalidRecord(f"`url` has more than {MAX_URL:,} characters.")
    return made


def url_key(url: str) -> str:
    """What names the page of a canonical URL: without scheme, `www.`, `m.` and `amp`, and a slash at the end."""
    plain = _PLAIN.fullmatch(url)
    return plain[1].rstrip("/") + (plain[2] or "") if plain else _key_of_parts(url)


def _key_of_parts(url: str) -> str:
    """The same for every canonical URL: slower."""
    parts = urlsplit(url)
    host, path = _VARIANTS.sub("", parts.netloc), _AMP.sub("", parts.path.rstrip("/")).rstrip("/")
    query = parts.query
    if "amp" in query.lower():
        pairs = parse_qsl(query, keep_blank_values=True)
        kept = [(name, value) for name, value in pairs if (name.lower(), value.lower()) not in _AMP_PARAMETERS]
        query = urlencode(kept) if len(kept) < len(pairs) else query
    if "%" in path or not path.isascii():
        path = quote(unicodedata.normalize("NFC", unquote(path)))
    return f"{host}{path}?{query}" if query else f"{host}{path}"


def _seen(sign: str) -> str:
    """A character as it may stand in a URL that people look at: nothing that cannot be seen."""
    if sign in "\t\r\n":  # as browsers do
        return ""
    return sign if sign.isprintable() and sign != " " else quote(sign)
