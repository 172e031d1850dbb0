"""The digests of seeded releases: every estimator has some, and a moved number changes one."""

from skdp_bary import PrivateMeasure
from tests.discovery import private_estimators
from tests.releases import cases, released

ROWS = {"X": [[0.1], [0.4], [0.7]] * 20}


def digests(seed):
    return released(PrivateMeasure(1.0, bounds=(0, 1), random_state=seed), ROWS)


def test_every_private_estimator_has_cases_and_most_of_them_fit():
    tried = {}
    for _, estimator, _ in cases():
        kinds = [name for name, cls in private_estimators().items() if isinstance(estimator, cls)]
        for name in kinds:
            tried[name] = tried.get(name, 0) + 1
    assert tried.keys() == private_estimators().keys()
    assert min(tried.values()) > 20


def test_equal_fits_have_equal_digests_and_other_noise_changes_them():
    assert digests(0) == digests(0)
    changed = {name for name, digest in digests(0).items() if digest != digests(1)[name]}
    assert "weights_" in changed
    assert "n_features_in_" not in changed


def test_what_a_fit_raises_is_its_class_and_the_parameter():
    assert released(PrivateMeasure(0.0), ROWS) == {"raises": "ValueError epsilon"}
