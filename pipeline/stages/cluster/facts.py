"""Facts: what the scores ask of a cluster as a whole, a row of whole numbers a cluster."""

import numpy as np
from numpy.typing import NDArray

FIRST, LAST, SIZE, SQUARE, OPENED, SEEN = range(6)
"""Columns: times of the first and the last story, stories, squared length of the sum of vectors, the position of the story that
opened it, and zero (a kernel marks there what it has seen)."""
COLUMNS = 6

Facts = NDArray[np.int64]
