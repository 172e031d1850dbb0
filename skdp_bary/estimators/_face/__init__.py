"""What every estimator shows: guarantees, labels, warnings, frames."""
