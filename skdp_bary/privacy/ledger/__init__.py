"""The budget that estimators share, and where its entries live."""
