"""Everything that talks to Kafka outside the agents: connections, topics, producers, readers, dead letters."""
