"""Wasserstein barycenters."""
