"""Tests of skdp_bary."""
