"""Thin Faust agents around the pure stages: decode, call one function, send, count."""
