"""What several families do with noisy numbers."""
