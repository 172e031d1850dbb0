"""How clusters are found in many features: what k-means and barycenters share."""
