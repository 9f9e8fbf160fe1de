"""Newsburst: news stories on Kafka in, breaking events on Kafka and in Postgres out."""

__version__ = "0.1.0"
