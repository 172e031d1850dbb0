from skdp_bary import BudgetAccountant, PrivateEMDHeatmap
from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
from skdp_bary.plotting import HeatmapDisplay

X, people = make_city_checkins(20_000, random_state=0)
budget = BudgetAccountant(epsilon=2.0)
city = PrivateEMDHeatmap(epsilon=1.0, bounds=CITY_BOUNDS)
city.set_params(accountant=budget).fit(X, groups=people)
HeatmapDisplay.from_estimator(city)
budget.remaining()  # (1.0, 0.0)
