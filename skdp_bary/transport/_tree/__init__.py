"""Transport and inference on trees of nested cells."""
