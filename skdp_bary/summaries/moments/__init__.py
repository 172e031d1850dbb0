"""Sizes, ranges, means and second moments."""
