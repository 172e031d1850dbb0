"""Published methods. Each one cites its source and lists its flaws."""

from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .coresets import CoresetBarycenter
    from .heatmap_levels import LevelwiseEMDHeatmap
    from .max_cover import MaxCoverKMeans
    from .shuffling import (
        ShuffleAnalyzer,
        ShuffleClient,
        ShufflePlan,
        ShuffleRounds,
        shuffle_distance,
        shuffle_messages,
        simulate_shuffle,
    )
    from .sliced_noise import calibrate_sigma
    from .sliced_privacy import bernstein_bound, clt_bound
    from .sliced_rows import NoisyRowsSlicedWasserstein
    from .subsampling import SubsampledBarycenter

_HOMES = {
    "CoresetBarycenter": "coresets",
    "LevelwiseEMDHeatmap": "heatmap_levels",
    "MaxCoverKMeans": "max_cover",
    "NoisyRowsSlicedWasserstein": "sliced_rows",
    "ProgressLine": "sliced_training",
    "ShuffleAnalyzer": "shuffling",
    "ShuffleClient": "shuffling",
    "ShufflePlan": "shuffling",
    "ShuffleRounds": "shuffling",
    "SlicedNetworkAdapter": "sliced_adapter",
    "SlicedNetworkGenerator": "sliced_generator",
    "SlicedQuantileLoss": "sliced_training",
    "SubsampledBarycenter": "subsampling",
    "TrainingEvent": "sliced_training",
    "bernstein_bound": "sliced_privacy",
    "calibrate_sigma": "sliced_noise",
    "clt_bound": "sliced_privacy",
    "encode_rows": "sliced_adaptation",
    "fixed_image_encoder": "sliced_adaptation",
    "shuffle_distance": "shuffling",
    "shuffle_messages": "shuffling",
    "simulate_shuffle": "shuffling",
}
_WITH_TORCH = ("sliced_adaptation", "sliced_adapter", "sliced_generator", "sliced_training")

__all__ = [
    "CoresetBarycenter",
    "LevelwiseEMDHeatmap",
    "MaxCoverKMeans",
    "NoisyRowsSlicedWasserstein",
    "ProgressLine",
    "ShuffleAnalyzer",
    "ShuffleClient",
    "ShufflePlan",
    "ShuffleRounds",
    "SlicedNetworkAdapter",
    "SlicedNetworkGenerator",
    "SlicedQuantileLoss",
    "SubsampledBarycenter",
    "TrainingEvent",
    "bernstein_bound",
    "calibrate_sigma",
    "clt_bound",
    "encode_rows",
    "fixed_image_encoder",
    "shuffle_distance",
    "shuffle_messages",
    "simulate_shuffle",
]

_found = None
with suppress(ImportError, ValueError):
    _found = find_spec("torch")
if _found is None:  # "import *" asks for every name; these raise where they are used
    __all__ = [name for name in __all__ if _HOMES[name] not in _WITH_TORCH]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'skdp_bary.papers' has no attribute {name!r}")
    if _HOMES[name] in _WITH_TORCH:
        from ..exceptions import import_optional

        import_optional("torch", "torch", f"skdp_bary.papers.{name}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__():
    return sorted(_HOMES)
