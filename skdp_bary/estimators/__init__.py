"""Private estimators: one family a prefix."""
