"""The detect stage: the stories of each cluster are counted in a sliding window; one with more than the threshold breaks."""
