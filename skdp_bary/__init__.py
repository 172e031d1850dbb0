"""scikit-learn estimators for differentially private optimal transport."""

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from .estimators.adapter import PrivateDomainAdapter
    from .estimators.barycenter import PrivateWassersteinBarycenter
    from .estimators.drift import PrivateDriftSketch
    from .estimators.generator import PrivateGenerator
    from .estimators.generator_pca import PrivatePCA
    from .estimators.heatmap import PrivateEMDHeatmap
    from .estimators.kmeans import PrivateKMeans
    from .estimators.measure import PrivateMeasure
    from .estimators.scaling import PrivateStandardScaler
    from .estimators.sliced import DPSlicedWasserstein
    from .estimators.table import PrivateTable
    from .estimators.two_sample import PrivateTwoSampleTest
    from .inspection.check_private import check_private
    from .privacy.accountant import BudgetAccountant
    from .rows.grouping import SortedPersons, SpilledPersons
    from .schema.schema import Schema
    from .transformers.linear import DomainScaler, JLTransformer
    from .transformers.tables import RowByRow, SchemaTransformer

_HOMES = {
    name: f"skdp_bary.{home}"
    for home, names in {
        "estimators.adapter": "PrivateDomainAdapter",
        "estimators.barycenter": "PrivateWassersteinBarycenter",
        "estimators.drift": "PrivateDriftSketch",
        "estimators.generator": "PrivateGenerator",
        "estimators.generator_pca": "PrivatePCA",
        "estimators.heatmap": "PrivateEMDHeatmap",
        "estimators.kmeans": "PrivateKMeans",
        "estimators.measure": "PrivateMeasure",
        "estimators.scaling": "PrivateStandardScaler",
        "estimators.sliced": "DPSlicedWasserstein",
        "estimators.table": "PrivateTable",
        "estimators.two_sample": "PrivateTwoSampleTest",
        "inspection": "check_private",
        "privacy.accountant": "BudgetAccountant",
        "rows.grouping": "SortedPersons SpilledPersons",
        "schema": "Schema",
        "transformers.linear": "DomainScaler JLTransformer",
        "transformers.tables": "RowByRow SchemaTransformer",
    }.items()
    for name in names.split()
}

__all__ = [  # written out: editors and type checkers do not run this file
    "BudgetAccountant",
    "DPSlicedWasserstein",
    "DomainScaler",
    "JLTransformer",
    "PrivateDomainAdapter",
    "PrivateDriftSketch",
    "PrivateEMDHeatmap",
    "PrivateGenerator",
    "PrivateKMeans",
    "PrivateMeasure",
    "PrivatePCA",
    "PrivateStandardScaler",
    "PrivateTable",
    "PrivateTwoSampleTest",
    "PrivateWassersteinBarycenter",
    "RowByRow",
    "Schema",
    "SchemaTransformer",
    "SortedPersons",
    "SpilledPersons",
    "check_private",
    "__version__",
]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'skdp_bary' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__():
    return sorted(__all__)
