"""The domain adapter as the checks call it."""

from dataclasses import replace
from unittest import mock

import numpy as np

from skdp_bary.estimators import adapter_source as head
from skdp_bary.estimators.adapter import PrivateDomainAdapter
from skdp_bary.estimators.adapter_source import TUNED
from skdp_bary.queries.maps import N_DRAWS
from skdp_bary.rows.opening import open_rows

_SOURCE_ROWS = 80
# The guarantee is the same whatever was learned from the source, and checks fit many times.
_TRAINED_BRIEFLY = replace(TUNED, fewest_steps=20)


class AdapterOnPublicSource(PrivateDomainAdapter):
    __doc__ = PrivateDomainAdapter.__doc__

    def fit(self, X, y=None, *, groups=None, sample_weight=None, unit=None):
        """Fit with a public source around the bounds, or around the origin without bounds.

        Parameters
        ----------
        X : array-like, dataframe or chunks
            Private rows.
        y : ignored
        groups, sample_weight : array-like of shape (n_rows,), optional
            As in the fit of the adapter.
        unit : str or None, default=None
            As in the fit of the adapter.

        Returns
        -------
        self : object
        """
        n_features = open_rows(X, groups=groups, sample_weight=sample_weight).n_features
        rng = np.random.default_rng(n_features)
        rows = rng.uniform(-1.5, 1.5, size=(_SOURCE_ROWS, n_features))
        labels = np.where(rows[:, 0] > 0.0, "right", "left")
        with mock.patch.object(head, "TUNED", _TRAINED_BRIEFLY):
            whose = {"groups": groups, "sample_weight": sample_weight, "unit": unit}
            return super().fit(rows, labels, X, **whose)


def jittered(rows, draws):
    """Return rows moved a little, each by its own random numbers."""
    places = np.arange(rows.shape[1]) % N_DRAWS
    return rows + 0.2 * (draws[:, places] - 0.5)
