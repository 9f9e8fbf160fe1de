"""Postgres: the schema, the writer that the store agent uses, and what the reports read."""
