"""What the pipeline knows of languages: stop words and stems, each list with its origin and licence."""
