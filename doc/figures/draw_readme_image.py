"""Draw the picture of the README: a generated city beside its private release."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from skdp_bary import PrivateMeasure
from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
from skdp_bary.plotting import MeasureDisplay

X, people = make_city_checkins(n_people=20_000, random_state=0)
measure = PrivateMeasure(epsilon=1.0, bounds=CITY_BOUNDS).fit(X, groups=people)
display = MeasureDisplay.from_comparison(measure, X)
display.figure_.savefig(Path(__file__).parents[1] / "images" / "city.png", dpi=70)
