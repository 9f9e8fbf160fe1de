"""`newsburst web`: pages, API, feeds and live updates."""

import click

from pipeline.config import load
from pipeline.logs import configure
from pipeline.web.serve import CannotListen, serve


@click.command("web")
@click.option("--host", help="Address to listen on; NEWSBURST_WEB_HOST otherwise.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port; NEWSBURST_WEB_PORT otherwise; 0: any free one.")
def web_command(host: str | None, port: int | None) -> None:
    """Serve pages, API and feeds on http://127.0.0.1:8080 until Ctrl-C: what is breaking now, live, with its evidence.

    It only reads. It listens on this machine alone unless --host names another address; then set NEWSBURST_WEB_TOKEN_FILE, or put
    a proxy before it (docs/security.md).

    \b
    Example: newsburst web --port 8000
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    configure(settings)
    given = {"web_host": host, "web_port": port}
    try:
        serve(settings.model_copy(update={name: value for name, value in given.items() if value is not None}))
    except CannotListen as error:
        raise click.ClickException(str(error)) from None
