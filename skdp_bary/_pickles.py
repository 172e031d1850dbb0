"""Pickles know which version wrote them; those of 0.1 are refused with words that help."""

import warnings

from ._version import __version__
from .exceptions import VersionWarning

_KEY = "_skdp_bary_version"
_ADVICE = (
    "Read it with 0.1 (pip install 'skdp_bary<0.2') and keep the numbers that were released, as "
    "arrays; or fit anew, which costs budget again."
)
# What 0.1 had and what stands in folders since: only a file of 0.1 asks for it.
_OLD_MODULES = {
    "estimators": """_adapter_head _adapter_marginals _adapter_means _adapter_methods
        _adapter_source _adapter_training _barycenter_methods _barycenter_perturbation
        _barycenter_projected _barycenter_subspace _classes _cluster_curve _frame_output
        _generator_images _generator_mixture _generator_plan _generator_rectified _guarantee
        _heatmap_density _heatmap_fit _heatmap_medians _heatmap_methods _heatmap_views
        _kmeans_cover _kmeans_high _kmeans_lloyd _kmeans_low _kmeans_methods _kmeans_noise
        _kmeans_paper _kmeans_plan _kmeans_rounds _misplaced _prelude _shrinkage
        _sliced_directions _sliced_mechanisms _sliced_rows _sliced_scalar _sliced_sketch
        _sliced_test _sliced_views _subspace_models _tree_methods _weighted_kmeans""",
    "privacy": """_accountant _batched_plan _budget_table _calibration _chain _curves _filters
        _hypergeometric _ledger _mechanisms _noise _plan _pld _postgres _private_selection
        _projection_curves _projection_losses _projection_profile _race _selection_plan _spending
        _sqlite _subsampled_plan _subsampling""",
    "summaries": """_batches _bounds _by_class _cell_grams _cell_spreads _cell_sums _cluster_sums
        _cover _cover_grid _dask _dask_groups _frame_counts _frames _head_gradients _hierarchy
        _level_counts _losses _mapped _moments _packed _partition _projected_cost
        _projected_histogram _projected_quantiles _projected_rows _query _reduce _release
        _row_features _row_mapped _rows _sampling _sources _tape""",
    "transport": """_coincident _exact _exchange _fixed_support _haar _lift _pull _search _setting
        _sinkhorn _starts _tree_consistency _tree_l1 _tree_messages _tree_posterior""",
}


class VersionedPickle:
    """Write the version into pickles, and say so where another one wrote what is read."""

    def __getstate__(self):
        return {**super().__getstate__(), _KEY: __version__}

    def __setstate__(self, state):
        if _KEY not in state:
            raise ImportError(
                f"This pickle of a {type(self).__name__} was written by skdp_bary 0.1, and this is "
                f"{__version__}, which cannot read it. {_ADVICE}"
            )
        own = {name: value for name, value in state.items() if name != _KEY}
        warn_of_other_version(f"This {type(self).__name__}", state[_KEY])
        super().__setstate__(own)


def warn_of_other_version(what, version):
    """Say that another version wrote a thing, where that is so."""
    if version != __version__:
        warnings.warn(
            f"{what} was written by skdp_bary {version}, and this is {__version__}: what it "
            "computes may differ. What was released, and what it cost, does not change.",
            VersionWarning,
            stacklevel=3,
        )


def refuse_old_module(name):
    """Raise ModuleNotFoundError for a module that 0.1 had, with what to do; pass all others."""
    _, folder, *rest = name.split(".")
    if len(rest) == 1 and rest[0] in _OLD_MODULES.get(folder, "").split():
        raise ModuleNotFoundError(
            f"{name} was a module of skdp_bary 0.1, and this is {__version__}. A pickle or a saved "
            f"release that asks for it was written by 0.1, and cannot be read here. {_ADVICE}",
            name=name,
        )
