"""What releases cost together: calibrations, curves, plans, subsampling, races, selection."""
