"""Alembic revisions of the schema `news`; `newsburst migrate` applies them."""
