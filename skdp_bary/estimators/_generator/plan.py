"""What PrivateGenerator will ask, by public facts alone: the steps and the number of cells."""

from dataclasses import dataclass
from functools import cached_property

from .tuning import TUNED


@dataclass(frozen=True)
class GeneratorSetting:
    """Public facts that the conversation may use.

    Attributes
    ----------
    n_features, n_classes : int
    size : int or None
        Public or estimated number of persons; None, before it is known, announces many cells.
    mu : float
        Gaussian parameter of the budget.
    n_components : "auto" or int
    class_spread : float or None
    image_shape : tuple or None
    covariance_type : {"full", "tied"}
    random_state : None, int or RandomState
    """

    n_features: int
    n_classes: int
    size: int | None
    mu: float
    n_components: object
    class_spread: float | None = None
    image_shape: tuple | None = None
    covariance_type: str = "full"
    random_state: object = None

    @property
    def tied(self):
        """Whether all classes share one covariance."""
        return self.covariance_type == "tied"

    @cached_property
    def n_cells(self):
        """Number of cells of a class: a public rule where none is given."""
        if self.tied and self.n_components not in ("auto", 1):
            raise ValueError(
                'n_components must be "auto" or 1 with covariance_type="tied", got '
                f"{self.n_components!r}."
            )
        each = (1 if self.tied else self.n_classes) * (self.n_features + 1) ** 2
        many = self.size is None or self.mu * self.size / self.n_classes >= TUNED.signal
        wanted = self.n_components
        if wanted == "auto":
            most = TUNED.n_cells if many and not self.tied else 1
            wanted = max(1, min(most, TUNED.most_entries // each))
        if wanted * each > TUNED.limit:
            raise ValueError(
                f"n_components={wanted} for {self.n_classes} classes of {self.n_features} features "
                f"needs matrices of {wanted * each} numbers, and at most {TUNED.limit} are "
                "supported: take fewer components, or project the features first."
            )
        return int(wanted)


def shares(setting):
    """Return the steps, in order, and their shares of ``mu**2``."""
    n_cells = setting.n_cells
    if setting.tied:
        return {"means": TUNED.tied_means_share, "scatter": 1.0 - TUNED.tied_means_share}
    steps = {"means": TUNED.means_share, "scatter": TUNED.scatter_share}
    if n_cells == 1:
        return steps | {"grams": TUNED.cells_share + TUNED.grams_share}
    rounds = {f"cells_{i + 1}": TUNED.cells_share / TUNED.rounds for i in range(TUNED.rounds)}
    return steps | rounds | {"grams": TUNED.grams_share}
