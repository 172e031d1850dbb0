"""What diagrams and notebooks show of a private estimator: its promise, and nothing it must not."""

import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    DPSlicedWasserstein,
    JLTransformer,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
)
from skdp_bary.geometry import Ball
from skdp_bary.model_selection import PrivateSearchCV
from tests.cases import every
from tests.world import width_of

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

X = np.random.default_rng(0).random((200, 2))
ESTIMATORS = [
    PrivateMeasure(bounds=(0, 1), depth=3, n_hint=200),
    PrivateKMeans(2, bounds=(0, 1), n_hint=200),
    PrivateEMDHeatmap(bounds=(0, 1), resolution=8, n_hint=200),
    PrivateWassersteinBarycenter(2, bounds=(0, 1), n_hint=200),
    DPSlicedWasserstein(3, bounds=(0, 1), n_min=100),
]


def captions(estimator):
    return re.findall(r'class="caption">([^<]*)<', estimator._repr_html_())


def table(estimator):
    """The rows of the table below the diagram."""
    html = estimator._repr_html_().split('<table class="skdp-guarantee">')[1]
    return dict(re.findall(r"<th[^>]*>([^<]*)</th><td[^>]*>([^<]*)</td>", html))


@every("estimator", ESTIMATORS)
def test_every_estimator_shows_its_guarantee_and_what_is_left(estimator):
    accountant = BudgetAccountant(epsilon=3.0, delta=1e-5)
    estimator = type(estimator)(**estimator.get_params(deep=False) | {"accountant": accountant})
    before = table(estimator)
    assert "once fitted" in before["Guarantee"] and "epsilon=1.0" in before["Guarantee"]
    assert before["Budget"].startswith("left: epsilon=3.0, delta=1e-05 of epsilon=3.0")
    assert accountant.entries == ()
    after = table(estimator.fit(X))
    plan = estimator.privacy_
    assert after["Guarantee"] == f"epsilon={plan.epsilon}, delta={plan.delta}"
    assert after["Neighbors"].startswith("add_remove: adding or removing one person")
    for step in plan.steps:
        assert f"{step.name}: {type(step.mechanism).__name__}" in after["Mechanisms"]
    left = accountant.remaining()
    assert after["Budget"].startswith(f"left: epsilon={left[0]}, delta={left[1]} of")
    assert len(accountant.entries) == 1
    released = [name.split(": ")[0] for name in after["Released"].split("; ")]
    assert {"privacy_", "domain_", "n_features_in_"} <= set(released) and "Released" not in before
    assert all(name in vars(estimator) and not name.startswith("_") for name in released)


def test_what_was_released_is_told_by_its_shape_alone():
    measure = PrivateMeasure(bounds=(0, 1), depth=3).fit(X)
    measure.names_ = np.array(["<b>secret</b>"], dtype=object)
    vars(measure)["<i>_"] = 1
    html = measure._repr_html_().split('<table class="skdp-guarantee">')[1]
    assert "names_: ndarray of (1,)" in html and "secret" not in html and "<i>" not in html
    assert f"weights_: ndarray of {measure.weights_.shape}" in html


def test_steps_of_a_pipeline_have_a_line_each():
    accountant = BudgetAccountant(epsilon=1.5)
    pipeline = make_pipeline(
        DomainScaler((0, 1)),
        JLTransformer(1, bounds=(0, 1)),
        PrivateMeasure(bounds=(-1, 1), accountant=accountant),
    )
    promise = "epsilon=1.0, delta=0.0, add_remove; DiscreteLaplace; left: epsilon={}, delta=0.0"
    public = "public: fitting reads no row"
    assert captions(pipeline) == [public, public, promise.format(1.5)]
    assert captions(pipeline.fit(X)) == [public, public, promise.format(0.5)]


def test_seeded_fits_are_not_called_private():
    measure = PrivateMeasure(bounds=(0, 1), depth=3, random_state=0)
    assert captions(measure) == ["seeded noise: NOT PRIVATE"]
    measure.fit(X).set_params(random_state=None)
    assert captions(measure) == ["seeded noise: NOT PRIVATE"]
    assert table(measure)["Guarantee"].startswith("seeded noise: NOT PRIVATE")


def test_what_users_wrote_is_escaped():
    measure = PrivateMeasure(bounds=(0, 1), accountant="<script>alert(1)</script>")
    html = measure._repr_html_()
    assert "<script>alert(1)" not in html and "&lt;script&gt;alert(1)" in html
    assert captions(measure) == ["parameters that no fit accepts"]


def test_a_ledger_that_cannot_be_read_breaks_no_picture(tmp_path):
    accountant = BudgetAccountant(epsilon=1.0, ledger=tmp_path / "budget.db")
    (tmp_path / "budget.db").write_bytes(b"no ledger")
    assert "cannot be read" in captions(PrivateMeasure(bounds=(0, 1), accountant=accountant))[0]


def test_searches_show_what_the_search_costs():
    inner = PrivateWassersteinBarycenter(bounds=(0, 1), n_hint=200)
    accountant = BudgetAccountant(2.0)
    search = PrivateSearchCV(
        inner, {"n_atoms": [1]}, epsilon=0.5, mean_trials=2, accountant=accountant
    )
    promise = (
        "epsilon=0.5, delta=0.0, add_remove; best of a random number of trials; DiscreteLaplace; "
        "left: epsilon={}, delta=0.0"
    )
    assert captions(search) == [promise.format(2.0)]
    assert table(search)["Guarantee"].endswith("random number of trials, once fitted")
    search.fit(X).set_params(epsilon=9.0)
    assert captions(search) == captions(search.best_estimator_) == [promise.format(1.5)]
    whole = "epsilon=0.5, delta=0.0 for the whole search; best of a random number of trials"
    assert table(search)["Guarantee"] == table(search.best_estimator_)["Guarantee"] == whole
    assert table(search)["Mechanisms"] == "fit: DiscreteLaplace; score: DiscreteLaplace"


def test_the_protocols_of_notebooks():
    measure = PrivateMeasure(bounds=(0, 1))
    bundle = measure._repr_mimebundle_()
    assert bundle["text/plain"] == repr(measure) and "skdp-guarantee" in bundle["text/html"]
    with config_context(display="text"):
        assert set(measure._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(measure, "_repr_html_")


def test_pictures_come_without_warnings():
    """scikit-learn reads docstrings for them, once: this is a process that has read none."""
    script = (
        "import warnings, skdp_bary\n"
        "measure = skdp_bary.PrivateMeasure(bounds=(0, 1), depth=2)\n"
        "with warnings.catch_warnings(action='ignore'): measure.fit([[0.5]] * 9)\n"
        "measure._repr_html_()"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


@every(
    "bounds, width",
    [
        *((bounds, 7) for bounds in (None, (0, 1), (0, [1, 1]), "x", 5)),
        *((([0, 0, 0], [1, 1, 1]), 3), (Ball([0, 0], 1), 2)),
    ],
)
def test_bounds_tell_how_many_features_there_are(bounds, width):
    assert width_of(bounds, 7) == width
