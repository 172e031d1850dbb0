"""Counts on trees of cells."""
