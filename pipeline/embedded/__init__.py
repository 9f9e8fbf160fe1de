"""Real Kafka and real Postgres from packages, without Docker and without Java installed (extra `embedded`)."""
