"""Synthetic codes by AIM, MST or PrivBayes of the package dpmm, in an environment of its own.

``python peer.py codes.npz METHOD EPSILON DELTA SEED out.npz``, with a python that has dpmm (0.1.9)
and nothing of skdp_bary. What comes in are integers: numbers of public cells, at most 32 a column,
so no preprocessing of theirs spends budget.
"""

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

ROUNDS = {
    "aim": 2,
    "aim_full": 16,
}  # of AIM, times the number of columns; the second is its default


def main(source, method, epsilon, delta, seed, target):
    """Fit one method, draw as many rows, and keep them with what the fit took."""
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM
    from dpmm.models.priv_bayes import PrivBayesGM

    given = np.load(source)
    codes, sizes = given["codes"], given["sizes"].tolist()
    frame = pd.DataFrame(codes, columns=[f"c{i}" for i in range(len(sizes))])
    kind = {"mst": MSTGM, "privbayes": PrivBayesGM}.get(method, AIMGM)
    options = {"epsilon": epsilon, "n_jobs": 1, "n_iters": 200}
    if kind is not PrivBayesGM:
        options |= {"delta": delta, "compress": False}
    if kind is AIMGM:
        options |= {"rounds": ROUNDS[method] * len(sizes), "max_model_size": 20}
    model = kind(**options)
    model.set_random_state(np.random.RandomState(seed))
    model.set_domain(dict(zip(frame.columns, sizes, strict=True)))
    began = time.process_time()
    model.fit(frame)
    seconds = time.process_time() - began
    drawn = model.generate(n_records=len(frame))[frame.columns].to_numpy().astype(np.int64)
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
    np.savez_compressed(target, codes=drawn, seconds=seconds, peak=peak * 1024)


if __name__ == "__main__":
    source, method, epsilon, delta, seed, target = sys.argv[1:]
    main(source, method, float(epsilon), float(delta), int(seed), target)
