import sys

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError

from skdp_bary import PrivateWassersteinBarycenter
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.plotting import BarycenterDisplay


def fit(n_features=2, classes=("north", "south"), **parameters):
    rng = np.random.default_rng(0)
    y = rng.choice(classes, size=600)
    X = rng.uniform(0.0, 1.0, size=(600, n_features))
    X[:, -1] += np.where(y == classes[0], 1.0, 0.0)
    settings = {"epsilon": 2.0, "bounds": (0.0, 2.0), "n_hint": 600, "n_init": 1} | parameters
    model = PrivateWassersteinBarycenter(3, classes=classes, **settings)
    return model.fit(X, y), X, y


def test_atoms_and_measures_are_those_of_the_release():
    with pytest.warns(PrivacyWarning, match="seeded"):
        model, _, _ = fit(random_state=0, epsilon=20.0)
    display = BarycenterDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.atoms_[0].get_offsets(), model.support_)
    assert len(display.groups_) == 2
    for drawn, measure in zip(display.groups_, model.private_measures_, strict=True):
        np.testing.assert_array_equal(drawn.get_offsets(), measure.support)
        sizes = drawn.get_sizes()
        small = sizes < sizes.max()  # the largest marks are cut
        ratio = sizes[small] / measure.weights[small]
        assert small.any()
        np.testing.assert_allclose(ratio, ratio.mean())


def test_groups_have_names_and_colors_of_their_own():
    display = BarycenterDisplay.from_estimator(fit()[0])
    legend = display.axes_[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["north", "south"]
    colors = [tuple(group.get_facecolor()[0][:3]) for group in display.groups_]
    assert colors[0] != colors[1]
    assert BarycenterDisplay.from_estimator(fit(classes=("all",))[0]).axes_[0].get_legend() is None


def test_from_estimator_keeps_no_rows():
    display = BarycenterDisplay.from_estimator(fit()[0])
    assert display.rows is None and len(display.axes_) == 1
    assert "not private" not in display.axes_[0].get_title()


def test_from_comparison_shows_every_row_with_its_group_and_says_so():
    model, X, y = fit()
    display = BarycenterDisplay.from_comparison(model, X, y)
    assert len(display.axes_) == 2
    assert "not private" in display.axes_[0].get_title()
    assert display.axes_[1].get_title() == "release, epsilon=2"
    for label, drawn in zip(("north", "south"), display.axes_[0].collections, strict=False):
        np.testing.assert_array_equal(drawn.get_offsets(), X[y == label])
    for atoms in display.atoms_:
        np.testing.assert_array_equal(atoms.get_offsets(), model.support_)
    assert display.axes_[0].get_xlim() == display.axes_[1].get_xlim() == (0.0, 2.0)


def test_one_group_needs_no_labels_and_several_do():
    one, X, _ = fit(classes=("all",))
    assert len(BarycenterDisplay.from_comparison(one, X).rows[0]) == len(X)
    several, X, _ = fit()
    with pytest.raises(ValueError, match="y must hold labels"):
        BarycenterDisplay.from_comparison(several, X)


def test_outlines_given_axes_and_a_second_plot():
    model, X, y = fit(delta=1e-6)
    figure, axes = pyplot.subplots(1, 2)
    square = [[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]
    display = BarycenterDisplay.from_comparison(model, X, y, outlines=[square], ax=axes)
    assert display.figure_ is figure
    for each in axes:
        np.testing.assert_array_equal(each.lines[0].get_xydata(), square)
    assert "delta=1e-06" in axes[1].get_title()
    assert display.plot(ax=axes) is display
    with pytest.raises(ValueError, match="ax must hold 2 axes"):
        display.plot(ax=axes[0])


def test_names_of_columns_become_labels():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.random.default_rng(0).random((300, 2)), columns=["east", "north"])
    model = PrivateWassersteinBarycenter(2, bounds=(0, 1), n_hint=300, n_init=1).fit(X)
    axes = BarycenterDisplay.from_estimator(model).axes_[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("east", "north")


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(NotFittedError):
        BarycenterDisplay.from_estimator(PrivateWassersteinBarycenter())
    with pytest.raises(ValueError, match="needs two features, the estimator has 3"):
        BarycenterDisplay.from_estimator(fit(n_features=3)[0])
    model, X, y = fit()
    with pytest.raises(ValueError, match="X must have 2 features"):
        BarycenterDisplay.from_comparison(model, X[:, :1], y)


def test_a_missing_matplotlib_names_its_extra(monkeypatch):
    model, _, _ = fit()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "skdp_bary\[plot\]"'):
        BarycenterDisplay.from_estimator(model)
