"""Heatmaps without anybody who holds the rows: people send messages through a shuffler."""

from ._bounds import shuffle_distance
from ._protocol import ShuffleAnalyzer, ShuffleClient, ShufflePlan, shuffle_messages
from ._rounds import ShuffleRounds, simulate_shuffle

__all__ = [
    "ShuffleAnalyzer",
    "ShuffleClient",
    "ShufflePlan",
    "ShuffleRounds",
    "shuffle_distance",
    "shuffle_messages",
    "simulate_shuffle",
]
