"""Crawl: stories from feeds, politely."""
