"""Questions, exact answers, noise, and the desk where they meet."""
