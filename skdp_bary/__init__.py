"""scikit-learn estimators for differentially private optimal transport."""

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:  # so that editors complete names that are imported when they are used
    from .estimators import (
        DPSlicedWasserstein,
        PrivateDomainAdapter,
        PrivateDriftSketch,
        PrivateEMDHeatmap,
        PrivateGenerator,
        PrivateKMeans,
        PrivateMeasure,
        PrivateTable,
        PrivateTwoSampleTest,
        PrivateWassersteinBarycenter,
    )
    from .inspection import check_private
    from .privacy.ledger.accountant import BudgetAccountant
    from .schema import Schema
    from .summaries.rows.grouping import SortedPersons, SpilledPersons
    from .transformers import DomainScaler, JLTransformer, RowByRow, SchemaTransformer

_HOMES = {
    "BudgetAccountant": "skdp_bary.privacy.ledger.accountant",
    "DPSlicedWasserstein": "skdp_bary.estimators",
    "DomainScaler": "skdp_bary.transformers",
    "JLTransformer": "skdp_bary.transformers",
    "PrivateDomainAdapter": "skdp_bary.estimators",
    "PrivateDriftSketch": "skdp_bary.estimators",
    "PrivateEMDHeatmap": "skdp_bary.estimators",
    "PrivateGenerator": "skdp_bary.estimators",
    "PrivateKMeans": "skdp_bary.estimators",
    "PrivateMeasure": "skdp_bary.estimators",
    "PrivateTable": "skdp_bary.estimators",
    "PrivateTwoSampleTest": "skdp_bary.estimators",
    "PrivateWassersteinBarycenter": "skdp_bary.estimators",
    "RowByRow": "skdp_bary.transformers",
    "Schema": "skdp_bary.schema",
    "SchemaTransformer": "skdp_bary.transformers",
    "SortedPersons": "skdp_bary.summaries.rows.grouping",
    "SpilledPersons": "skdp_bary.summaries.rows.grouping",
    "check_private": "skdp_bary.inspection",
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
