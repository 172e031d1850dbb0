"""The distance of generated points to released slices, as a loss for training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ..estimators._sliced.sketch import SlicedSketch
from ..estimators._sliced.views import SlicedViews

if TYPE_CHECKING:
    from ..estimators._sliced.estimator import DPSlicedWasserstein


class SlicedQuantileLoss(torch.nn.Module):
    """Squared sliced Wasserstein distance of points to a release, differentiable in the points.

    The private side is what was released: directions, noisy quantiles and the size of their noise,
    held as buffers. No row is reachable from it, so gradients, training steps and everything that
    is learned from them are post-processing of that one release, and cost no budget.

    Parameters
    ----------
    released : DPSlicedWasserstein or SlicedSketch
        A fitted estimator with ``method="sketch"``, or one of its sketches.

    Attributes
    ----------
    classes : list
        Labels of the distributions, in the order of their codes.
    directions : Tensor of shape (n_features, n_directions)
    quantiles : Tensor of shape (n_classes, n_directions, n_quantiles)
    noise_variance : Tensor of shape (n_classes,)

    Notes
    -----
    The loss is the mean over directions and blocks of the squared difference between the block
    means of the points and the released ones, less the variance of the noise. It estimates, up to
    the rounding of the private rows, what :meth:`DPSlicedWasserstein.cost` does, and like that it
    is below zero now and then. Points outside the domain are compared where they are: clipping them
    would take their gradient away.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from skdp_bary import DPSlicedWasserstein
    >>> from skdp_bary.torch import SlicedQuantileLoss
    >>> private = 0.1 * np.random.default_rng(0).normal(size=(20000, 2)) + 0.5
    >>> loss = SlicedQuantileLoss(DPSlicedWasserstein(bounds=(-1, 1), n_min=10000).fit(private))
    >>> points = torch.zeros(50, 2, requires_grad=True)
    >>> loss(points).backward()
    >>> bool((points.grad < 0).all())
    True
    """

    def __init__(self, released: DPSlicedWasserstein | SlicedSketch) -> None:
        super().__init__()
        sketches, self.classes = _sketches(released)
        dtype = torch.get_default_dtype()
        self.register_buffer("directions", torch.tensor(sketches[0].directions, dtype=dtype))
        quantiles = [torch.tensor(sketch.quantiles, dtype=dtype) for sketch in sketches]
        self.register_buffer("quantiles", torch.stack(quantiles))
        variances = torch.tensor([sketch.noise_std**2 for sketch in sketches], dtype=dtype)
        self.register_buffer("noise_variance", variances)

    def forward(
        self,
        points: torch.Tensor,
        labels: torch.Tensor | None = None,
        weights: torch.Tensor | None = None,
        directions: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return the loss of a batch.

        Parameters
        ----------
        points : Tensor of shape (n_points, n_features)
            Output of a generator.
        labels : int Tensor of shape (n_points,) or None, default=None
            Codes of their classes, needed where there are several; the mean over the classes that
            occur is returned.
        weights : Tensor of shape (n_points,) or None, default=None
            Non-negative masses of the points; equal by default.
        directions : int Tensor or None, default=None
            The directions to compare on, all by default. A random part of them gives a faster
            estimate of the same loss.

        Returns
        -------
        loss : Tensor without dimensions
        """
        chosen = slice(None) if directions is None else directions
        projections = points @ self.directions[:, chosen]
        if len(self.classes) == 1:
            return self._cost(0, projections, weights, chosen)
        if labels is None:
            raise ValueError(
                f"labels are needed: the release has {len(self.classes)} distributions."
            )
        costs = []
        for code in torch.unique(labels).tolist():
            members = labels == code
            some = None if weights is None else weights[members]
            costs.append(self._cost(code, projections[members], some, chosen))
        return torch.stack(costs).mean()

    def _cost(self, code, projections, weights, chosen):
        means = block_means(projections, self.quantiles.shape[2], weights)
        residuals = means - self.quantiles[code, chosen]
        return (residuals**2).mean() - self.noise_variance[code]


def block_means(projections, n_blocks, weights=None):
    """Return the means of sorted projections over blocks of equal mass.

    The integral of a quantile function is linear between the masses that sorted points reach, so
    its values at multiples of ``1 / n_blocks`` follow by interpolation, points on the border of two
    blocks by their share. Sums of many small numbers are made in double precision.

    Parameters
    ----------
    projections : Tensor of shape (n_points, n_directions)
    n_blocks : int
    weights : Tensor of shape (n_points,) or None, default=None

    Returns
    -------
    means : Tensor of shape (n_directions, n_blocks)
    """
    values, order = torch.sort(projections.T.contiguous(), dim=1)
    values = values.double()
    if weights is None:
        masses = values.new_full(values.shape, 1.0 / values.shape[1])
    else:
        masses = (weights.double() / weights.double().sum())[order]
    reached = torch.cumsum(masses, dim=1)
    integral = torch.cumsum(masses * values, dim=1)
    ends = torch.arange(1, n_blocks + 1, device=values.device, dtype=values.dtype) / n_blocks
    ends = ends.expand(len(values), -1).contiguous()
    place = torch.searchsorted(reached.detach(), ends).clamp(max=values.shape[1] - 1)
    beyond = torch.gather(reached, 1, place) - ends
    below = torch.gather(integral, 1, place) - beyond * torch.gather(values, 1, place)
    means = torch.diff(below, dim=1, prepend=torch.zeros_like(below[:, :1])) * n_blocks
    return means.to(projections.dtype)


def _sketches(released):
    if isinstance(released, SlicedSketch):
        return [released], [0]
    if not isinstance(released, SlicedViews):
        raise TypeError(
            "released must be a fitted DPSlicedWasserstein or one of its sketches, got "
            f"{released!r}."
        )
    classes = released._labels().tolist()
    return [released.sketch(label) for label in classes], classes
