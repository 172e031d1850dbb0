"""Exact optimal transport from many points to few atoms, with a certificate.

A small sample of the points is solved exactly, its potentials start a sample four times larger,
and so on; at each level mass moves along shortest paths between the atoms. What comes out is
certified without looking at how it was found.
"""
