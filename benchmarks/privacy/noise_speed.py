"""Time 10**6 exact draws beside OpenDP's vector samplers and numpy's float samplers, in one run.

The goals: at least 60 times as fast as OpenDP (exact as well), at most 8 times as slow as numpy's
Laplace and normal from a keyed generator (not exact, not private). Bits come from the operating
system. Scales reach what sums of hundreds of features need. ``pip install opendp`` for the first
comparison; without it that half is reported missing.

``python -m benchmarks.privacy.noise_speed``
"""

import time

import numpy as np

from benchmarks.recording import Results
from skdp_bary.privacy.noise import noise_generator

try:
    import opendp.prelude as dp
except ImportError:
    dp = None

RESULTS = Results("noise_speed")
DRAWS = 10**6
OPENDP_DRAWS = 10**5
SCALES = (5.0, 100.0, 1e4, 2.0**30, 2.0**45)
GOALS = {"opendp": 60.0, "numpy": 8.0}


def best_time(draw, repeats=5):
    """Return the smallest time of several runs."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        draw()
        times.append(time.process_time() - begin)
    return min(times)


def opendp_sampler(law, scale):
    """Return OpenDP's vector sampler of integers and the zeros it adds noise to."""
    dp.enable_features("contrib")
    make = {"discrete_laplace": dp.m.make_laplace, "rounded_gaussian": dp.m.make_gaussian}[law]
    metric = {"discrete_laplace": dp.l1_distance, "rounded_gaussian": dp.l2_distance}[law]
    space = dp.vector_domain(dp.atom_domain(T=int)), metric(T=int)
    return make(*space, scale=scale), [0] * OPENDP_DRAWS


def time_law(law, scale):
    """Return seconds for 10**6 draws of one law: ours, numpy's and OpenDP's."""
    source, rng = noise_generator(), np.random.Generator(np.random.Philox())
    floats = rng.laplace if law == "discrete_laplace" else rng.normal
    seconds = {
        "ours": best_time(lambda: getattr(source, law)(scale, DRAWS)),
        "numpy": best_time(lambda: floats(0.0, scale, DRAWS)),
    }
    if dp is not None:
        sampler, zeros = opendp_sampler(law, scale)
        seconds["opendp"] = best_time(lambda: sampler(zeros), 2) * DRAWS / OPENDP_DRAWS
    return seconds


def main():
    if dp is None:
        print("OpenDP is NOT installed: its half of this benchmark did not run.")
    print(f"{'law':17} {'scale':>8} {'ours':>8} {'numpy':>8} {'opendp':>8}  of numpy  opendp is")
    rows = []
    for law in ("discrete_laplace", "rounded_gaussian"):
        for scale in SCALES:
            seconds = time_law(law, scale)
            ratios = {"of_numpy": seconds["ours"] / seconds["numpy"]}
            if dp is not None:
                ratios["opendp_is"] = seconds["opendp"] / seconds["ours"]
            rows.append({"law": law, "scale": scale, "seconds": seconds, "ratios": ratios})
            print(
                f"{law:17} {scale:8.2g} {seconds['ours']:8.3f} {seconds['numpy']:8.3f} "
                f"{seconds.get('opendp', np.nan):8.2f} {ratios['of_numpy']:8.1f}x "
                f"{ratios.get('opendp_is', np.nan):8.1f}x",
                flush=True,
            )
    RESULTS.write({"draws": DRAWS, "goals": GOALS, "rows": rows})


if __name__ == "__main__":
    main()
