"""What a scikit-learn object needs next to its algorithm: private names, pickles with a version."""

import copy
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from pickle import UnpicklingError
from weakref import WeakKeyDictionary

import numpy as np
from sklearn import get_config
from sklearn.compose import ColumnTransformer
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_threads  # noqa: F401
from sklearn.utils._repr_html.estimator import _VisualBlock
from sklearn.utils.parallel import Parallel

from ._version import __version__
from .exceptions import VersionWarning

# The only importer of private names of scikit-learn.

_SEARCHES = "sklearn.model_selection."
_PAID = f"{__package__}.model_selection."
_LIBRARIES = ("sklearn.", "joblib.")
_PIPELINE_FITS = ("_fit", "fit", "fit_transform", "fit_predict")
_ONCE_A_FOLD = ("cross_validate", "cross_val_predict", "cross_val_score")


def called_by_others():
    """Whether anything below may be among the callers: a search, a pipeline of whatever class."""
    return any(
        module.startswith(_LIBRARIES)
        or (frame.f_code.co_name in _PIPELINE_FITS and not module.startswith(f"{__package__}."))
        for module, frame in _frames(sys._getframe(1))
    )


def called_by_a_search():
    """Whether a search or a cross-validation of scikit-learn is among the callers."""
    return next(_searches(), None) is not None


# of what runs the fits of a search, and of the search: texts it said
_TOLD: WeakKeyDictionary = WeakKeyDictionary()


@dataclass(frozen=True)
class SearchCall:
    """A search or a cross-validation that is among the callers.

    Attributes
    ----------
    name : str
        Class of the search, or name of the function.
    fitted : object or None
        The search itself, or the estimator that is cross-validated. None: how often it is fitted
        is not known of this function.
    folds : bool
        Whether it is fitted once a fold.
    chooses : bool
        Whether a search is among them, which chooses by exact scores.
    cv : object
        What was given as folds.
    jobs : object or None
        What runs its fits; of this call alone.
    depth : int
        How many frames above the asker it was called, from 1.
    """

    name: str
    fitted: object
    folds: bool
    chooses: bool
    cv: object
    jobs: object
    depth: int

    def is_news(self, text):
        """Whether no fit of the call has said a text, nor any before the last one of a search."""
        own = None if self.folds else self.fitted
        source = own if self.jobs is None else self.jobs
        told = set() if source is None else _TOLD.setdefault(source, set())
        if own is not None:
            _TOLD[own] = told
        is_news = text not in told
        told.add(text)
        return is_news


def search_among_callers(skipped=0):
    """Return the outermost search among the callers, None where a private search pays for all.

    Frames of the asker and of so many of its callers are not looked at.
    """
    found = jobs = above = None
    chooses = False
    for depth, (module, frame) in enumerate(_frames(sys._getframe(1 + skipped)), start=1):
        if module.startswith(_PAID):
            return None
        if module.startswith(_SEARCHES):
            found, above = frame, None
            chooses = chooses or hasattr(frame.f_locals.get("self"), "fit")
        elif isinstance(frame.f_locals.get("self"), Parallel):
            jobs = frame.f_locals["self"]
        elif above is None and not module.startswith(_LIBRARIES):
            above = depth
    if found is None:
        return None
    given, name = found.f_locals, found.f_code.co_name
    search = given.get("self")
    folds = name in _ONCE_A_FOLD
    fitted = given.get("estimator") if folds else search
    called = name if search is None else type(search).__name__
    return SearchCall(called, fitted, folds, chooses, given.get("cv"), jobs, above or 1)


def search_has_groups():
    """Whether one that is among the callers was given groups, and routes none of them."""
    return not get_config()["enable_metadata_routing"] and any(
        given.get("groups") is not None
        for frame in _searches()
        for given in (frame.f_locals, frame.f_locals.get("params"))
        if isinstance(given, Mapping)
    )


def steps_before():
    """Return what pipelines among the callers fitted before the step that asks.

    Returns
    -------
    steps : list of (str, estimator)
        Of all pipelines around the step, the innermost first.
    search : object or None
        The search above them, or what runs the fits of a cross-validation.
    depth : int
        How many frames above the asker they were called, from 1.
    """
    steps, seen, search, above = [], set(), None, None
    for depth, (module, frame) in enumerate(_frames(sys._getframe(1)), start=1):
        method = frame.f_code.co_name
        inside = module.startswith((*_LIBRARIES, f"{__package__}."))
        # reading the locals of a frame copies them, so frames of strangers are left alone
        owner = frame.f_locals.get("self") if inside or method in _PIPELINE_FITS else None
        if isinstance(owner, Pipeline) and method in _PIPELINE_FITS and id(owner) not in seen:
            seen.add(id(owner))
            # "_fit" counts the steps before the last one, and is met before what calls it
            steps += owner.steps[: frame.f_locals.get("step_idx", -1) if method == "_fit" else -1]
        elif isinstance(owner, Parallel | BaseSearchCV):
            search = owner
        if inside:
            above = None
        elif above is None:
            above = depth
    return steps, search, above or 1


def pipeline_among_callers():
    """Return the steps of the innermost pipeline that fits, before the step that asks and from it.

    Returns
    -------
    before, rest : list of (str, estimator)
        Both are empty without a pipeline.
    """
    for frame in _fits(_LIBRARIES):
        owner = frame.f_locals.get("self")
        if isinstance(owner, Pipeline):
            # "_fit" counts the steps before the last one, and is met before what calls it
            place = frame.f_locals.get("step_idx", -1)
            return owner.steps[:place], owner.steps[place:]
    return [], []


def groups_of_steps():
    """Return the steps of the innermost pipeline that fits, and whether each is given groups."""
    for frame in _fits(_LIBRARIES):
        owner, routed = frame.f_locals.get("self"), frame.f_locals.get("routed_params")
        if isinstance(owner, Pipeline) and routed is not None:
            given = {name: routed[name].values() for name, _ in owner.steps}
            return [
                (name, step, any(each.get("groups") is not None for each in given[name]))
                for name, step in owner.steps
            ]
    return []


def chains_to_come():
    """Return what compositions among the callers fit after the step that asks, innermost first.

    Returns
    -------
    chains : list of (list of steps, rows)
        The first step of each is being fitted to the rows, or does nothing; others follow.
    """
    chains, running = [], None
    for module, frame in _frames(sys._getframe(1)):
        method = frame.f_code.co_name
        if not module.startswith(_LIBRARIES):
            continue
        if method in ("_fit_one", "_fit_transform_one"):
            running = frame.f_locals["transformer"]
        elif method == "_fit" and isinstance(frame.f_locals.get("self"), Pipeline):
            steps = frame.f_locals["self"].steps[frame.f_locals["step_idx"] :]
            chains.append(([step for _, step in steps], frame.f_locals["X"]))
        elif method in ("_parallel_func", "_call_func_on_transformers"):
            held = frame.f_locals  # in the jobs of columns, the copies that are fitted
            if "jobs" in held:
                beside = [(job["transformer"], job["X"]) for _, _, job in held["jobs"]]
            else:
                beside = [(step, held["X"]) for _, step, _ in held["transformers"]]
            steps = [step for step, _ in beside]
            place = next((i for i, step in enumerate(steps) if step is running), len(steps))
            chains += [([None, step], rows) for step, rows in beside[place + 1 :]]
    return chains


def branches_of(step):
    """Return (name, step, columns) of all that a union or a column transformer is put together of.

    Columns are None where it takes all, or all that are left. None: it is no such composition.
    """
    if hasattr(step, "transformer_list"):
        return [(name, part, None) for name, part in step.transformer_list]
    if hasattr(step, "transformers") and hasattr(step, "remainder"):
        return [*step.transformers, ("remainder", step.remainder, None)]
    return None


def called_by_a_union():
    """Whether a fit of a union or of a column transformer is among the callers."""
    return any(
        isinstance(frame.f_locals.get("self"), FeatureUnion | ColumnTransformer)
        for frame in _fits(_LIBRARIES)
    )


def rows_among_callers():
    """Return what fits of libraries and of this package among the callers were given as rows."""
    return [
        frame.f_locals["X"]
        for frame in _fits((*_LIBRARIES, f"{__package__}."))
        if "X" in frame.f_locals
    ]


def _fits(packages):
    """Yield the frames of the fits of these packages among the callers, the innermost first."""
    for module, frame in _frames(sys._getframe(1)):
        if module.startswith(packages) and frame.f_code.co_name in _PIPELINE_FITS:
            yield frame


def _searches():
    return (f for module, f in _frames(sys._getframe(1)) if module.startswith(_SEARCHES))


def _frames(frame):
    """Yield a frame and those of its callers, with the names of their modules."""
    while frame is not None:
        yield frame.f_globals.get("__name__", ""), frame
        frame = frame.f_back


def captioned_block(estimator, caption):
    """Content of an estimator's diagram in scikit-learn, with a line below its name."""
    return _VisualBlock(
        "single",
        estimator,
        names=type(estimator).__name__,
        name_details=str(estimator),
        name_caption=caption,
    )


# Pickles know which version wrote them and what they hold; damaged ones are refused.

_KEY, _CHECKSUM = "_skdp_bary_version", "_skdp_bary_checksum"
_PLAIN = (bool, int, float, complex, str, bytes, range, date, time, timedelta, Decimal, Fraction)
# Others write their versions, and a budget is another one in another process: its ledger tells.
_LEFT_OUT = {_KEY, _CHECKSUM, "_sklearn_version", "accountant"}


class VersionedPickle:
    """Write the version and a checksum into pickles, and say so where they do not fit.

    The checksum is of all attributes but the budget, as far as they are made of plain Python
    objects, arrays and what this package defines. Of others, such as steps of scikit-learn, only
    the class is held to it.
    """

    def __getstate__(self):
        state = super().__getstate__()
        return {**state, _CHECKSUM: checksum((type(self), state)), _KEY: __version__}

    def __setstate__(self, state):
        own = {name: value for name, value in state.items() if name not in (_KEY, _CHECKSUM)}
        version = state.get(_KEY, __version__)
        if version == __version__ and state.get(_CHECKSUM) != checksum((type(self), own)):
            raise UnpicklingError(
                f"This pickle of a {type(self).__name__} is damaged: its checksum differs. Read "
                "another copy of it. A new fit costs budget again."
            )
        warn_of_other_version(f"This {type(self).__name__}", version)
        super().__setstate__(own)

    # copies are not written anywhere
    def __copy__(self):
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __deepcopy__(self, memo):
        made = memo[id(self)] = type(self).__new__(type(self))
        vars(made).update(copy.deepcopy(vars(self), memo))
        return made


def checksum(value):
    """Return a checksum of a value, the same before it is pickled and after."""
    digest = blake2b(digest_size=16)
    _tell(digest.update, value, ())
    return digest.hexdigest()


def _tell(update, value, around):
    """Pass the bytes of a value on, of objects as they are pickled; `around` are those it is in."""
    kind = np.ndarray if isinstance(value, np.memmap) else type(value)
    update(f"{kind.__module__} {kind.__qualname__} ".encode())
    if id(value) in around:
        return
    inside = (*around, id(value))
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind != "O":
        update(f"{value.dtype.str} {value.shape} ".encode() + value.tobytes())
    elif isinstance(value, np.ndarray):
        _tell(update, (value.shape, value.tolist()), inside)
    elif isinstance(value, dict):
        for pair in value.items():
            if not (isinstance(pair[0], str) and pair[0] in _LEFT_OUT):
                _tell(update, pair, inside)
    elif isinstance(value, list | tuple):
        update(f"{len(value)} ".encode())
        for one in value:
            _tell(update, one, inside)
    elif isinstance(value, set | frozenset):
        update(" ".join(sorted(map(checksum, value))).encode())
    elif hasattr(value, "__qualname__"):  # a class or a function
        update(f"{value.__module__} {value.__qualname__} ".encode())
    elif isinstance(value, _PLAIN):
        update(f"{value!r} ".encode("utf-8", "surrogatepass"))
    elif _is_plain_object(value):
        _tell(update, value.__reduce_ex__(4)[1:3], inside)


def _is_plain_object(value):
    """Whether an object is one of this package, or is pickled as all that it holds."""
    kind = type(value)
    if isinstance(value, VersionedPickle) or kind.__module__.split(".")[0] == "skdp_bary":
        return True
    usual = ("__reduce__", "__reduce_ex__", "__getstate__")
    is_usual = all(getattr(kind, name, None) is getattr(object, name, None) for name in usual)
    return is_usual and hasattr(value, "__dict__") and not hasattr(kind, "__setstate__")


def warn_of_other_version(what, version):
    """Say that another version wrote a thing, where that is so."""
    if version != __version__:
        warnings.warn(
            f"{what} was written by skdp_bary {version}, and this is {__version__}: what it "
            "computes may differ. What was released, and what it cost, does not change.",
            VersionWarning,
            stacklevel=3,
        )
