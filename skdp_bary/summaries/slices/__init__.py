"""Rows projected on public directions."""
