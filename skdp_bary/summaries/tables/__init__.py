"""Questions about tables whose columns are divided into public cells."""
