"""Parts of a budget: one memory under two of them is refused, however it is wrapped and cut."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pyarrow
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from skdp_bary import BudgetAccountant, DomainScaler, PrivateKMeans, PrivateMeasure, RowByRow
from skdp_bary.exceptions import LeakError

from .promises import Promise, Trial, repeated

_N_ROWS = 24


def give_to_two_parts(rng):
    """Give one memory to two parts of a budget."""
    is_wrapped = rng.random() < 0.6
    return give_rows_to_two_parts(rng) if is_wrapped else give_views_to_two_parts(rng)


def give_rows_to_two_parts(rng):
    """Fit two views of one memory, wrapped at random, under two parts; or two that share no row."""
    with tempfile.TemporaryDirectory() as folder:
        kind = str(rng.choice(list(_MEMORIES)))
        memory = _MEMORIES[kind](rng.random((_N_ROWS, 2)), Path(folder))
        cuts = [_cut(rng) for _ in range(2)]
        rows = [set(range(_N_ROWS)[cut]) for cut in cuts]
        budget, charged = BudgetAccountant(1.0), 0
        word = None if rng.random() < 0.5 else "by lot"
        views = [_wrap(rng, memory, cut) for cut in cuts]
        for part, view in zip("ab", views, strict=True):
            measure = PrivateMeasure(
                1.0, bounds=(0, 1), n_hint=9, accountant=budget.part(part, disjoint=word)
            )
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    _around(rng, measure.set_params(method="haar"), view).fit(view)
                charged += 1
            except LeakError:
                pass
    text = f"{kind}, cut at {cuts}, {word=}"
    if rows[0] & rows[1] and charged == 2:
        return Trial(violation=f"two releases for the price of one: {text}")
    if kind != "path" and not rows[0] & rows[1] and charged < 2:
        return Trial(violation=f"other rows were refused: {text}")
    return None


def give_views_to_two_parts(rng):
    """Fit two views of one memory under two parts, which cut it into rows of other lengths."""
    shape = rng.choice([(24, 4), (6, 16), (48, 2), (4, 24)])
    root = np.zeros(shape, order=str(rng.choice(["C", "F"])))
    views = [_recut(rng, root) for _ in range(2)]
    if not np.shares_memory(*views):
        return None
    budget = BudgetAccountant(1.0)
    for part, view in zip("ab", views, strict=True):
        view_of_part = budget.part(part, disjoint="by lot")
        measure = PrivateMeasure(1.0, bounds=(0, 1), n_hint=9, accountant=view_of_part)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                measure.set_params(method="haar").fit(view)
        except LeakError:
            return None
    layouts = [(view.shape, view.strides, str(view.dtype)) for view in views]
    return Trial(violation=f"two releases for the price of one: {root.strides}, {layouts}")


def _recut(rng, root):
    """Return rows and columns of a reshaped array or of its bytes as another type."""
    view = root if root.flags.c_contiguous else root.T
    if rng.random() < 0.3:
        view = view.view(rng.choice([np.float32, np.int16]))
    view = view.reshape(-1, int(rng.choice([1, 2, 3, 4, 6, 8, 12, 16])))
    view = view[_cut(rng, len(view)) if len(view) > 1 else slice(None)]
    view = view[:, int(rng.integers(0, view.shape[1])) :: int(rng.integers(1, 4))]
    return view[::-1] if rng.random() < 0.3 else view.T if rng.random() < 0.2 else view


def _around(rng, measure, view):
    """Return a private step, or at times what makes other rows for it of those that it is given."""
    if not isinstance(view, np.ndarray) or rng.random() < 0.5:
        return measure
    step = PrivateKMeans(1, epsilon=1.0, bounds=(0, 1), n_hint=9, accountant=measure.accountant)
    steps = (
        RowByRow(step),
        make_pipeline(DomainScaler((0, 1)), step),
        make_pipeline("passthrough", RowByRow(step)),
        ColumnTransformer([("both", RowByRow(step), [0, 1])]),
    )
    return steps[rng.integers(len(steps))]


def _cut(rng, n_rows=_N_ROWS):
    """Return which rows: at least two, from somewhere on, each, or every so many."""
    while True:
        start, step = rng.integers(0, n_rows - 1), rng.integers(1, 4)
        stop = rng.integers(start + 2, n_rows + 1)
        if len(range(start, stop, step)) > 1:
            return slice(int(start), int(stop), int(step))


def _wrap(rng, memory, cut):
    if isinstance(memory, Path):
        return str(rng.choice([str(memory), f"{memory.parent}/*.parquet", f"{memory.parent}/"]))
    if isinstance(memory, (pyarrow.Table, polars.DataFrame)):
        if cut.step > 1:
            return [memory.slice(i, 1) for i in range(_N_ROWS)[cut]]
        return memory.slice(cut.start, cut.stop - cut.start)
    view = memory.iloc[cut] if isinstance(memory, pd.DataFrame) else memory[cut]
    if rng.random() < 0.3 and len(view) > 3:  # where one row alone lies cannot be told
        edge = int(rng.integers(2, len(view) - 1))
        pieces = [view[:edge], view[edge:]]
        return [(piece,) for piece in pieces] if rng.random() < 0.5 else pieces
    if isinstance(view, pd.DataFrame):
        return view.rename(columns=str.upper) if rng.random() < 0.5 else view
    return view[::-1] if rng.random() < 0.5 else view


def _parquet(X, folder):
    pd.DataFrame(X, columns=["x", "y"]).to_parquet(folder / "part.parquet")
    return folder / "part.parquet"


def _columns(X):
    return {"x": X[:, 0].copy(), "y": X[:, 1].copy()}


_MEMORIES = {
    "array": lambda X, folder: X,
    "Fortran": lambda X, folder: np.asfortranarray(X),
    "columns": lambda X, folder: np.hstack([X, X])[:, 1:3],
    "pandas": lambda X, folder: pd.DataFrame(X, columns=["x", "y"]),
    "pandas, column by column": lambda X, folder: pd.DataFrame(_columns(X)),
    "polars": lambda X, folder: polars.DataFrame(_columns(X)),
    "arrow": lambda X, folder: pyarrow.table(_columns(X)),
    "path": _parquet,
}
PROMISE = Promise(
    "parts",
    "Fits on two parts of one budget cannot share memory or files; other rows are accepted",
    repeated(give_to_two_parts),
)
