"""Files of documents: near-duplicates, similar ones, and clusters, on the engine of the stream."""
