"""Forms send every field; one that nobody filled in chooses nothing."""

from starlette.types import ASGIApp, Receive, Scope, Send


class WithoutEmptyFields:
    """Leaves out of a query the fields without a value."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["query_string"]:
            fields = [field for field in scope["query_string"].split(b"&") if field.partition(b"=")[2]]
            scope = {**scope, "query_string": b"&".join(fields)}
        await self._app(scope, receive, send)
