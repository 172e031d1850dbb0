"""Rows that pass through a public function or a small network."""
