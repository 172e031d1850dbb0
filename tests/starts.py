"""What tests that run over all private estimators start from."""

from skdp_bary import PrivateTable, PrivateTwoSampleTest
from skdp_bary.schema import Number
from skdp_bary.testing._discovery import private_estimators
from skdp_bary.testing._public_source import AdapterOnPublicSource


def start(name):
    """Return a private estimator, all parameters at their defaults that have one."""
    if name == "PrivateDomainAdapter":
        return AdapterOnPublicSource()
    if name == "PrivateTable":
        return PrivateTable(Number(0, 1))
    if name == "PrivateTwoSampleTest":
        return PrivateTwoSampleTest(reference=[[0.2, 0.7], [0.4, 0.1]], n_resamples=9)
    return private_estimators()[name]()
