"""The desk: query, count, release, charge once."""
