"""Masses, sums and spreads of the cells of released points."""
