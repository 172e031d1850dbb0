"""Where questions meet rows and noise: query, count, release, charge once."""
