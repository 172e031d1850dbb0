"""Public transformers: nothing in them depends on the rows."""
