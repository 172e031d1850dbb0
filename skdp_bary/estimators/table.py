"""PrivateTable: a synthetic table from one private release of a real one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..exceptions import Neighbors, RandomState
from ..geometry.bounds import some_of
from ..parameters import MOST_STEPS, PRIVACY_RULES, Integer, Name, OfColumns, Rules
from ..privacy.mechanisms import ADD_REMOVE
from ..privacy.noise import public_generator
from ..privacy.spending import SharedBudget
from ..queries.classes import ColumnHistograms
from ..rows.grouping import declared
from ..rows.opening import warn
from ..schema.cells import MOST_SINGLE, ListCells, TableCells, container_of, spans_magnitudes
from ..schema.kinds import Date, Number
from ..schema.schema import Derived, Key, Schema
from ..values import column_names
from .base import BasePrivateEstimator
from .notices import ENOUGH, rounded_up
from .table_fitting import fit_mixture, target_of
from .table_mixture import check_rules, mixture_of, try_rules
from .table_queries import LEAST_ROWS, TUNED, TableSetting, nominal_sd, questions, shares
from .table_views import TableViews

# PrivateTable: a synthetic table from one private release of a real one.

_MOST_CLASSES = 256
_LABEL = (
    "label must be a column of flags, categories or ordinals with at most {} values; a column of "
    "numbers is measured like any other. Pass label=None."
)


class PrivateTable(TableViews, BasePrivateEstimator):
    """Synthetic tables: numbers, categories, dates and missing values, from two private releases.

    A public schema divides columns into cells. Histograms of columns and pairs are released, per
    class of ``label`` if given. A mixture of components with independent columns, fitted to
    them, gives any number of synthetic rows at no further privacy cost (:doc:`/explanation/table`).

    Parameters
    ----------
    schema : Schema
        Public values of each column. One kind of :mod:`skdp_bary.schema` applies to all.

    label : str or int, default=None
        Name or position of the Boolean, category or ordinal column to predict. Everything is
        measured in each of its classes. Its values are as private as others.

    rules : sequence of rules, default=()
        Public facts that synthetic rows keep: :class:`~skdp_bary.schema.InOrder`,
        :class:`~skdp_bary.schema.Shares`, and :class:`~skdp_bary.schema.Derived` and
        :class:`~skdp_bary.schema.Key` columns, which are not measured.

    n_components : int, default=300
        Components of the mixture.

    max_iter : int, default=500
        Steps of the mixture's fit, which cost only time.

    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=1e-6
        Failure probability, much smaller than one over the number of people. 0 means Laplace noise,
        and 10% of the budget for choosing the pairs of columns to measure.

    n_hint : int, default=None
        Public estimate of the number of people, not needed: their noisy number is released.

    neighbors : {"add_remove", "replace_one", "replace_any"}, default=None
        Neighboring relation; labels are private under all of them. None takes the accountant's, by
        default "add_remove".

    accountant : BudgetAccountant, default=None
        Budget shared by several fits. None limits each fit separately.

    random_state : int or RandomState, default=None
        None, except in tests: other values make releases reproducible and not private.

    verbose : {0, 1, 2}, default=0
        Progress output: none, a bar, or every step.

    Attributes
    ----------
    mixture_ : TableMixture
        Components of the mixture.
    total_ : float
        Noisy number of people (rows without ``groups``), or a public floor if that is mostly noise.
    pairs_ : list of tuple
        Pairs of columns that were measured, by name or position.
    schema_ : Schema
        The schema.
    domain_ : Box or None
        Public ranges of the columns, if all of them are numbers that may not be missing.
    privacy_ : Plan
        Releases and charges of the fit.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the schema or the table has them.

    Privacy
    -------
    Neighbors
        ``neighbors``, by default "add_remove" of one person: a row, or all rows with one value of
        ``groups``.
    Mechanism
        RoundedGaussian, or DiscreteLaplace with ``delta=0``.
    Sensitivity
        A row is one count in its class and in one cell of each of d columns, and in one entry of
        each of p tables of pairs; the rows of a person share a mass of 1. Joining moves the
        histograms by at most d + 1 in L1 and ``sqrt(d + 1)`` in L2, the tables by p and
        ``sqrt(p)``; replacing a person by twice that in L1 and ``sqrt(2)`` times that in L2. Where
        pairs are chosen first, the distance of each table from an expected one moves by at most 1,
        or 2 for a replacement.
    Budget
        The steps of a fit share (epsilon, delta).
    Released
        mixture_, total_, pairs_, schema_, domain_, privacy_, n_features_in_, feature_names_in_
    Not covered
        score_samples, evaluate: exact functions of their input.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateTable
    >>> from skdp_bary.schema import Boolean, Integer, Schema
    >>> ages_and_members = np.array([[25, 1], [31, 0], [58, 1], [44, 0]] * 500)
    >>> schema = Schema([Integer(18, 99), Boolean()])
    >>> model = PrivateTable(schema, label=1, n_components=20).fit(ages_and_members)
    >>> model.sample(3).shape
    (3, 2)
    """

    _effort = ("max_iter",)
    _parameter_rules = {name: rule for name, rule in PRIVACY_RULES.items() if name != "bounds"} | {
        "schema": OfColumns(),
        "label": Name() | None,
        "rules": Rules(),
        "n_components": Integer(1, MOST_STEPS),
        "max_iter": Integer(0, MOST_STEPS),
    }

    def __init__(
        self,
        schema: Schema,
        label: str | int | None = None,
        *,
        rules: Sequence = (),
        n_components: int = 300,
        max_iter: int = 500,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        n_hint: int | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
        verbose: Literal[0, 1, 2] = 0,
    ) -> None:
        self.schema = schema
        self.label = label
        self.rules = rules
        self.n_components = n_components
        self.max_iter = max_iter
        self.epsilon = epsilon
        self.delta = delta
        self.n_hint = n_hint
        self.neighbors = neighbors
        self.accountant = accountant
        self.random_state = random_state
        self.verbose = verbose

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Ranges of the columns, as the schema declares them.

        None where some are not numbers or may be missing.
        """
        schema = self._schema
        ranges = schema.ranges(schema.n_columns or 1)
        if ranges is None or schema.n_columns is not None:
            return ranges
        return tuple(float(end[0]) for end in ranges)

    @property
    def _schema(self):
        return self.schema if isinstance(self.schema, Schema) else Schema(self.schema)

    def _recode(self):
        if self.rules:  # refused in their own words, before columns are looked for
            self._method_setting(self._schema.n_columns or 1)
        return TableCells(self._schema, self._unread())

    def _unread(self):
        return tuple(rule.column for rule in self.rules if isinstance(rule, (Derived, Key)))

    def _open(self, names, X, y, groups, sample_weight):
        schema = self._schema
        container = container_of(X, schema.names is not None)
        if any(isinstance(rule, Derived) for rule in self.rules):
            columns = self._method_setting(schema.n_columns or 1).columns
            try:
                try_rules(self.rules, dict(zip(schema.names, columns, strict=True)), container)
            except Exception as error:
                raise ValueError(
                    "rules: a function fails on rows that were drawn from the schema alone, as "
                    f"rows of the release would be: {type(error).__name__}: {error}. Nothing was "
                    "charged."
                ) from error
        rows = super()._open(names, X, None, groups, sample_weight)
        unread = self._unread()
        found = schema.names or [name for name in column_names(X) or () if name not in unread]
        if found and len(found) == rows.n_features and all(isinstance(n, str) for n in found):
            names.feature_names_in_ = np.array(found, dtype=object)
        ids = getattr(declared(groups), "ids", None)
        names._ids = () if ids is None else (ids,)
        names._of_persons = rows.source.grouped
        names._container = container
        return rows

    def _bought_shares(self):
        return {}  # ranges are public, and the number of rows is part of the first step

    def _known_features(self):
        return self._schema.n_columns

    def _bounds_in_words(self):
        return f"by the schema: {some_of(self._schema.describe().splitlines(), '; ')}"

    def privacy_advice(self, n_features: int) -> str:
        """Notes on noise and on ranges of the schema, from public facts.

        Parameters
        ----------
        n_features : int

        Returns
        -------
        advice : str
        """
        schema = self._schema
        n_features = schema.n_columns or n_features
        names = schema.names or [f"column {place}" for place in range(n_features)]
        kinds = list(zip(map(str, names), schema.kinds(n_features), strict=True))
        wide = [name for name, kind in kinds if spans_magnitudes(kind)]
        # what is clipped to an end of few values looks usual, and `warn_of_misfit` says nothing
        clips = [(n, k) for n, k in kinds if k.word == "integer" and k.outside == "clip"]
        short = [n for n, k in clips if k.high - k.low < TUNED.most_values and not k.special]
        said = [super().privacy_advice(n_features)]
        if self.n_hint is not None:
            said.append(_kept_in_words(self, list(map(str, names))))
        if wide:
            said.append(
                f"Wide ranges in even cells: {some_of(wide, ', ')}. Where most values lie far "
                "below the highest, as amounts do, log=True with a low above 0 gives cells that "
                "grow with the numbers, and special=(0,) keeps zeros."
            )
        if short:
            said.append(
                f"Short scales: {some_of(short, ', ')}. Codes outside them, such as 99, become "
                "their ends, and no release shows it: declare special=(99,) or outside='refuse'."
            )
        return " ".join(filter(None, said))

    def _shares(self, n_features):
        return shares(self._method_setting(n_features))

    def _method_setting(self, n_features):
        schema, label = self._schema, self._label_place(n_features)
        columns = TableCells(schema).columns(n_features)
        if label is not None:
            cells = columns[label]
            if not isinstance(cells, ListCells) or cells.n_cells > _MOST_CLASSES:
                raise ValueError(_LABEL.format(_MOST_CLASSES))
        check_rules(self.rules, dict(zip(schema.names or (), columns, strict=False)))
        return TableSetting(columns, label, self.delta == 0)

    def _label_place(self, n_features):
        """Return the place of the column that tells the class, or None."""
        if self.label is None:
            return None
        names = self._schema.names
        if isinstance(self.label, str):
            if names is None or self.label not in names:
                raise ValueError(
                    f"label must be a column of the schema, got {self.label!r}. Pass a name of "
                    "one, or its place."
                )
            return names.index(self.label)
        if self.label >= n_features:
            raise ValueError(
                f"label must be below {n_features}, got {self.label!r}. For example label=0."
            )
        return int(self.label)

    def _questions(self, facts):
        return (yield from questions(self._method_setting(facts.n_features), facts))

    def _finish(self, facts, result):
        setting, rng = self._method_setting(facts.n_features), public_generator(self.random_state)
        target = target_of(result, setting.places)
        weights, bins = fit_mixture(target, self.n_components, self.max_iter, rng)
        names = self._schema.names or range(facts.n_features)
        vars(self).update(
            mixture_=mixture_of(result, setting, weights, bins),
            total_=result.histograms.total,
            schema_=self._schema,
            pairs_=[(names[i], names[j]) for i, j in result.pairs],
            _measured=result,
        )
        warn_of_misfit(dict(zip(names, setting.columns, strict=True)), result, self.epsilon)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


# What a table of a known number of rows can keep: from public facts, before the charge.

_FAINT = 0.05  # of the rows, above which what noise hides is worth a word
_CUT = 0.1  # of the rows: tails that noise of all cells of a line together hides
_WANTED_BINS = 8
_STEP, _MOST_STEPS = 1.25, 20  # epsilons that are tried, up to 69 times as large


def _kept_in_words(table, names):
    """Say what is too small to be kept, and which epsilon or how many columns would keep it."""
    n_columns, rows, label = len(names), table.n_hint, table._label_place(len(names))
    if _keeps(table, n_columns, table.epsilon):
        return ""
    of_class, of_value, of_bin, of_tail = _least_rows(table, n_columns, table.epsilon)
    said = [f"values below {of_value:.0f} rows share a bin"]
    if label is not None:
        said.insert(0, f"classes below {of_class:.0f} rows get about that many drawn rows")
    cells = table._method_setting(n_columns).columns
    lines = [n for n, c in zip(names, cells, strict=True) if not isinstance(c, ListCells)]
    if lines and rows < _WANTED_BINS * of_bin:
        said.append(f"{some_of(lines, ', ')} get about {max(rows / of_bin, 1):.0f} bins")
    wide = [name for name, c in zip(names, cells, strict=True) if _has_tails(c)]
    if wide and rows < of_tail / _CUT:
        said.append(
            f"rare values far from the rest of {some_of(wide, ', ')}, up to "
            f"{min(of_tail / rows, 1):.0%} of the rows, may be drawn near the rest, or the mean be "
            "far off: a resolution= that makes some tens of steps keeps more of them"
        )
    larger = table.epsilon * _STEP ** np.arange(1, _MOST_STEPS)
    epsilon = next((e for e in larger if _keeps(table, n_columns, e)), None)
    fewer = next((n for n in range(n_columns - 1, 1, -1) if _keeps(table, n, table.epsilon)), None)
    ways = [f"epsilon={epsilon:.2g}"] if epsilon else []
    ways += [f"{fewer} columns"] if fewer else []
    remedy = f" {' or '.join(ways)} would be enough." if ways else ""
    return f"With {rows} rows at epsilon={table.epsilon:g}, {'; '.join(said)}.{remedy}"


def _keeps(table, n_columns, epsilon):
    """Whether classes, values and tails of a share of the rows stay apart, in some bins."""
    of_class, of_value, of_bin, of_tail = _least_rows(table, n_columns, epsilon)
    least = max(of_class, of_value) / _FAINT
    return table.n_hint >= max(least, _WANTED_BINS * of_bin, of_tail / _CUT)


def _has_tails(cells):
    """Whether the cells of a column are those of a range of numbers, and could be fewer."""
    return isinstance(cells.kind, Number) and cells.n_ordered > MOST_SINGLE


def _least_rows(table, n_columns, epsilon):
    """Rows that keep a class, a value, a bin, a tail: of the label and the columns that come first.

    Those of ``read_histograms``, ``bins_of``, ``questions`` and ``clean_line``, from public facts.
    """
    schema = table._schema
    all_columns = schema.n_columns or n_columns
    kinds, label = list(schema.kinds(all_columns)), table._label_place(all_columns)
    if label is not None:
        kinds.insert(0, kinds.pop(label))
    budget = {"epsilon": float(epsilon), "delta": table.delta, "neighbors": table._relation()}
    smaller = PrivateTable(Schema(kinds[:n_columns]), None if label is None else 0, **budget)
    setting, plan = smaller._method_setting(n_columns), smaller._plan(n_columns)
    mechanisms = {step.name: step.mechanism for step in plan.steps}
    query = ColumnHistograms(setting.sizes, setting.label, 1, plan.relation != ADD_REMOVE)
    found = mechanisms["histograms"]
    scales = found.scales(query.sensitivity(plan.relation), query.weights())
    of_class, of_cell = (found.standard_deviation(scale) for scale in scales)
    of_pair = nominal_sd(setting, plan.relation, 1, mechanisms)
    above = TUNED.gaussian.kept * math.sqrt(query.n_classes)
    least_class = 0.0 if label is None else LEAST_ROWS * of_class
    widest = max((c.n_ordered for c in setting.columns if _has_tails(c)), default=0)
    of_tail = TUNED.gaussian.half * of_cell * math.sqrt(query.n_classes * widest)
    return least_class, above * of_cell, above * of_pair, of_tail


# Signs in a release of few rows, and of an unfit schema. Post-processing: they cost nothing.

_STRAYS = 0.05  # of the rows: where more are clipped, a 95 % quantile is not that of the rows


def warn_of_misfit(columns, measured, epsilon):
    """Warn of no more rows than noise alone shows, and of values that the schema does not declare.

    Parameters
    ----------
    columns : dict
        Cells of all columns, by name, in order.
    measured : Measured
    epsilon : float
    """
    found = measured.histograms
    rows, n_classes = found.raw_sizes.sum(), len(found.sizes)  # as released: small ones are raised
    least = LEAST_ROWS * found.size_sd * n_classes
    if rows < least:
        in_classes = "" if n_classes == 1 else f" in {n_classes} classes"
        warn(
            f"The table has about {max(rows, 0.0):.0f} people{in_classes}, by a noisy count, "
            f"little more than the noise at epsilon={epsilon:g}: synthetic rows can be mostly "
            f"noise, and total_ is raised to {found.total:.0f}. It needs "
            f"{rounded_up(2.0 * least)} or more.",
            stacklevel=5,
        )
    if rows * epsilon < ENOUGH:
        return
    noise = TUNED.laplace.kept * found.sd * math.sqrt(n_classes)
    for place, (name, cells) in enumerate(columns.items()):
        clean = found.clean.get(place)
        if clean is None:
            continue
        listed, kind, least = isinstance(cells, ListCells), cells.kind, _STRAYS * clean.sum()
        if listed and cells.has_others and clean[len(cells.values)] > max(least, noise):
            share = clean[len(cells.values)] / clean.sum()
            warn(
                f"About {share:.0%} of {name!r} are 'other' in the release, no values of its "
                "schema. Check their spelling, case, blanks and type, or add values that are "
                "public; outside='refuse' stops before a charge.",
                stacklevel=5,
            )
        if listed or kind.outside == "refuse" or cells.n_ordered <= TUNED.most_values:
            continue
        for end, cell in zip(kind.line, cells.cells_of(np.array(kind.line)), strict=True):
            natural = end in kind.special or (end == 0.0 and not isinstance(kind, Date))
            if clean[cell] > max(least, noise) and not natural:
                code = 10 ** len(str(int(max(kind.line[1], 0.0)) + 1)) - 1
                ways = f", codes as special=({code},), or special=({end:g},) if many have {end:g}"
                warn(
                    f"About {clean[cell] / clean.sum():.0%} of {name!r} are {cells.label(cell)} in "
                    "the release, an end of the range, to which values are clipped. Declare a "
                    f"wider range{'' if isinstance(kind, Date) else ways}.",
                    stacklevel=5,
                )
