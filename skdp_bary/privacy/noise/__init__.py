"""Exact integer noise: the sampler, and the mechanisms that state what it hides."""
