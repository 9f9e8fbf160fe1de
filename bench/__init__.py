"""Benchmarks: every figure is a ratio to a peer, measured beside it in the same run."""
