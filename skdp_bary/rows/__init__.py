"""Where rows come from, whose they are, and how they become integers."""
