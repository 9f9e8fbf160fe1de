"""The command, run in this process."""

from click.testing import CliRunner

from pipeline.cli import main

GOOD = '{"url": "https://a.example/b", "title": "T", "publisher": "P", "crawled_at": "2024-05-01T11:00:00Z"}'


def run(*arguments, settings=None, **kwargs):
    if settings:
        kwargs["env"] = settings.environment()
    return CliRunner().invoke(main, list(arguments), **kwargs)
