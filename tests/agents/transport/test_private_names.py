"""The private names that this project uses are there, and their loss is said in a sentence."""

from agents.transport import private_names


def test_the_installed_versions_have_all_of_them():
    assert private_names.missing() == []


def test_a_lost_name_is_said_with_where_it_is_used(monkeypatch):
    class Fetcher:
        def __init__(self):
            self._kept = 1

    monkeypatch.setattr(private_names, "USED", {Fetcher: ("_kept", "_lost")})
    (sentence,) = private_names.missing()
    assert "Fetcher has no _lost in this version" in sentence
    assert "agents/transport/private_names.py" in sentence
