"""Pages, API, feeds and live updates: what `newsburst web` serves. All of it only reads."""
