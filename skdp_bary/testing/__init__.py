"""The contract suite that every private estimator passes, for estimators of any author.

``parametrize_with_privacy_checks`` makes pytest tests of the checks, as
``sklearn.utils.estimator_checks.parametrize_with_checks`` does; ``check_private_estimator`` runs
them without pytest. ``check_empirical_loss`` takes minutes and is called on its own.
"""

from .suite import check_empirical_loss, check_private_estimator, parametrize_with_privacy_checks

__all__ = ["check_empirical_loss", "check_private_estimator", "parametrize_with_privacy_checks"]
