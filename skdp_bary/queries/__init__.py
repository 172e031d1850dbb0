"""What is asked of rows: exact integers, and how far one person moves them."""
