"""What was decided about the map before anybody looked at rows; public."""

from skdp_bary.privacy import SpendingPolicy

TOWN = {"lon": (-98.0, -97.5), "lat": (30.0, 30.5)}  # from an atlas
PERSONS = 3000  # about as many as there are, from the register
CEILING = 5.0  # of all years together: the promise to the people
POLICY = SpendingPolicy(epsilon=1.0, period="year", spenders=("monthly map", "survey"))
MAP = 0.08  # of each month's map; twelve of them leave 0.04 of a year
