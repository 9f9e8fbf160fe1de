"""Push: events are sent to subscribers, by webhook, chat or mail."""

SAYS_READY = "newsburst push: begins"
"""What the process writes when it begins."""
