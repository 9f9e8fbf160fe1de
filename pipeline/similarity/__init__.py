"""Sketches, bucket tables and vectors by which similar texts are found: exact integers, and no news in it."""
