"""What the agents share while they run: state, producer, dead letters, ticks, health, metrics."""
