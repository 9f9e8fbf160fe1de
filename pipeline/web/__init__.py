"""Pages, API, feeds and live updates: what `newsburst web` serves. All of it only reads."""

SAYS_READY = "newsburst web: ready at "
"""What the server writes when it answers, before its address."""
