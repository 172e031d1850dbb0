"""SchemaTransformer and RowByRow: tables by their schema, and any step one row at a time."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from .._sklearn import VersionedPickle, captioned_block
from ..exceptions import Estimator, Rows, import_optional
from ..geometry.rowwise import saturated
from ..parameters import Having, OfColumns, PlainParameters, Points, check_parameters
from ..schema.schema import Schema, warn_of_unnamed
from ..values import as_floats, column_names, read_rows, with_width
from .step_rules import FITTED_BEFORE, PRIVATE_INSIDE, faults_alone, is_private, library_of

# The first step of a pipeline: rows in the form that their schema declares.


class SchemaTransformer(
    PlainParameters,
    VersionedPickle,
    OneToOneFeatureMixin,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,
):
    """Convert rows to the form that a public schema declares.

    Steps of scikit-learn read, compare and round every row by the common type of all rows: one
    fraction, one string or one missing value changes the result for the others. After this step,
    every column has one type, whatever the rows contain, because each value is read separately.
    Nothing is learned, so there is no privacy cost. :func:`~skdp_bary.check_private` requires this
    step in front of every step of scikit-learn.

    Parameters
    ----------
    schema : Schema
        Public values of every column. A single kind of :mod:`skdp_bary.schema` stands for a schema
        in which all columns are of that kind.

    Attributes
    ----------
    schema_ : Schema
        The schema.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where the schema or the rows have them.

    Examples
    --------
    >>> from skdp_bary import SchemaTransformer
    >>> from skdp_bary.schema import Boolean, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 120), "member": Boolean()})
    >>> SchemaTransformer(schema).fit_transform([["58", "yes"], [250.0, False]])
    array([[ 58.,   1.],
           [120.,   0.]])
    """

    _parameter_rules = {"schema": OfColumns()}

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def fit(self, X: Rows, y: Rows | None = None) -> Self:
        """Compare the columns with the schema; nothing is learned.

        Parameters
        ----------
        X : array-like, dataframe, Arrow table or sparse matrix of shape (n_rows, n_columns)
            Rows. Those that cannot be read are rejected, and nothing is kept of the others.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Rows, y: object = None) -> Any:
        """Compare the columns with the schema and return rows in its form.

        Parameters
        ----------
        X : array-like, dataframe, Arrow table or sparse matrix of shape (n_rows, n_columns)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        X_new : ndarray or dataframe of shape (n_rows, n_columns)
            As ``transform`` returns them.
        """
        check_parameters(self)
        schema = Schema(self.schema)
        warn_of_unnamed(schema, column_names(X))
        names = schema.names or column_names(X)
        vars(self).pop("feature_names_in_", None)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        self.schema_ = schema
        self.n_features_in_ = schema.width_of(X)
        return self.transform(X)

    def transform(self, X: Rows) -> Any:
        """Return rows in the form of the schema.

        Parameters
        ----------
        X : array-like, dataframe, Arrow table or sparse matrix of shape (n_rows, n_columns)
            Rows. Columns of frames are matched by name where the schema has names.

        Returns
        -------
        X_new : ndarray or dataframe of shape (n_rows, n_columns)
            Where all columns are numbers, dates or flags: a C-ordered array of float64. Otherwise
            objects: a pandas dataframe for a pandas dataframe, with float64 for the numbers, or an
            array. ``set_output(transform="pandas")`` always gives dataframes.
        """
        check_is_fitted(self)
        X = with_width(X, self.n_features_in_)
        if self.schema_.width_of(X) != self.n_features_in_ or self.schema_.names is None:
            validate_data(self, X, skip_check_array=True, reset=False)
        columns = self.schema_.read(X)
        wanted = getattr(self, "_sklearn_output_config", {}).get("transform")
        is_pandas = hasattr(X, "iloc")
        if wanted == "pandas" or (wanted is None and is_pandas and not self.schema_.numeric):
            return self._frame(columns, X.index if is_pandas else None)
        dtype = np.float64 if self.schema_.numeric else object
        rows = np.empty((len(columns[0]), len(columns)), dtype=dtype)
        for place, values in enumerate(columns):
            rows[:, place] = values
        return rows

    def set_output(self, *, transform: Literal["default", "pandas"] | None = None) -> Self:
        """Choose what ``transform`` returns.

        Parameters
        ----------
        transform : {"default", "pandas"}, default=None
            "default" returns arrays, "pandas" dataframes; None changes nothing.

        Returns
        -------
        self : object
        """
        if transform not in (None, "default", "pandas"):
            raise ValueError(
                f'transform must be "default" or "pandas", got {transform!r}. For example '
                'set_output(transform="pandas").'
            )
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    @property
    def output_bounds_(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Lowest and highest values of the columns, or None: give it to the next step as bounds."""
        check_is_fitted(self)
        return self.schema_.ranges(self.n_features_in_)

    def _frame(self, columns, index):
        pandas = import_optional("pandas", "cli", 'set_output(transform="pandas")')
        names = getattr(self, "feature_names_in_", self.get_feature_names_out())
        # a dtype that pandas chose would depend on the rows
        series = (
            pandas.Series(values, index=index, dtype=values.dtype, copy=False) for values in columns
        )
        frame = pandas.concat(series, axis=1)
        frame.columns = list(names)
        return frame

    def _known_features(self):
        return Schema(self.schema).n_columns

    def _sk_visual_block_(self):
        return captioned_block(self, "public: every value is read by itself")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


# Any step, given one row at a time.


class RowByRow(PlainParameters, VersionedPickle, TransformerMixin, BaseEstimator):
    """Apply a step to each row separately.

    Products of whole matrices, sorts and threads may treat a row differently next to other rows.
    Here the step is fitted on public rows and then gets rows one at a time, as float64 arrays of
    shape (1, n_features) at one address. The result for a row therefore depends on that row alone.
    This is slow: some hundred rows per second.

    Every row is transformed from the fitted state of the step, even if the step draws at random or
    stores something, so no row changes the draws for the next one. A ``random_state`` of None
    becomes an integer. State in a class, a module or a closure cannot be detected here, and
    ``check_private`` calls such steps unknown.

    A row on which the step fails becomes zeros, because an error would reveal something about that
    row. So pass rows that the step accepts, for example after ``DomainScaler``, which clips them,
    and set ``handle_unknown="ignore"`` for encoders.

    A private step, of this package or of diffprivlib, is fitted once on the rows themselves and
    charges its budget. Its result for a row depends on its release and on that row only, so another
    private step may follow.

    Parameters
    ----------
    step : transformer
        Any transformer of numbers. It is cloned. Unless it is private, it never sees more than one
        row of X at a time.
    example : array-like of shape (n_examples, n_features), default=None
        Public rows that the step is fitted on; None: one row of zeros. Never rows of X. A private
        step takes none.

    Attributes
    ----------
    step_ : transformer
        The step, fitted on the example or, where it is private, on the rows.
    n_features_out_ : int
        Number of features that it returns.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where `X` has names that are all strings.

    Examples
    --------
    >>> from sklearn.preprocessing import Normalizer
    >>> from skdp_bary import RowByRow
    >>> RowByRow(Normalizer()).fit_transform([[3.0, 4.0], [0.0, 2.0]])
    array([[0.6, 0.8],
           [0. , 1. ]])
    """

    _parameter_rules = {
        "step": Having(
            "public, a step with transform, for example step=Normalizer()", ("transform",)
        ),
        "example": Points("public rows, finite numbers of shape (n, n_features)") | None,
    }

    def __init__(self, step: Estimator, example: ArrayLike | None = None) -> None:
        self.step = step
        self.example = example

    def fit(self, X: Rows, y: Rows | None = None, **params: Any) -> Self:
        """Fit the step on the public example, or a private step on the rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows, of which only the number and the names of the features are used, unless the step
            is private.
        y : array-like of shape (n_rows,), default=None
            Labels, for a private step.
        **params
            What a private step is fitted with, such as ``groups``.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        check_parameters(self)
        private = is_private(self.step)
        faults = set() if private else set(faults_alone(self.step))
        if FITTED_BEFORE in faults:
            raise ValueError(
                f"step must be fitted by RowByRow, got {type(self.step).__name__}, fitted before. "
                "Pass the step that is not frozen, with its public rows: RowByRow(step, X_public)."
            )
        if PRIVATE_INSIDE in faults:
            raise ValueError(
                f"step must be private itself or public, got {type(self.step).__name__} with a "
                "private step inside. Write make_pipeline(..., RowByRow(private_step))."
            )
        if private and self.example is not None:
            raise ValueError(
                "example must be None for a private step: it is fitted on the rows. Pass "
                "example=None."
            )
        if params and not private:
            raise TypeError(
                f"{sorted(params)} must go to a private step, got the public step "
                f"{type(self.step).__name__}, which is fitted on the example. Leave them out."
            )
        if get_config()["enable_metadata_routing"]:
            params = process_routing(self, "fit", **params).step.fit
        rows = read_rows(self, X, reset=True)
        d = rows.shape[1]
        example = np.zeros((1, d)) if self.example is None else as_floats(self.example, "example")
        if example.ndim != 2 or example.shape[1] != d or not len(example):
            raise ValueError(
                f"example must have shape (n, {d}), got {example.shape}. For example "
                f"example=np.zeros((1, {d}))."
            )
        step = clone(self.step)  # rows are copied, as some steps center them in place
        if not private:
            # numpy's own stream is everyone's, and never restored: draws follow a number of it
            held = step.get_params()
            for name in sorted(held):
                owner = held.get(name.rpartition("__")[0], step)
                is_stream = name.rpartition("__")[2] == "random_state" and not is_private(owner)
                if is_stream and held[name] is None:
                    number = check_random_state(None).randint(np.iinfo(np.int32).max)
                    step.set_params(**{name: number})
        self.step_ = step.fit(rows.copy(), y, **params) if private else step.fit(example)
        step_as_fitted = _restored(self.step_)
        image = self._image_of(step_as_fitted(), example[:1].copy())
        self.n_features_out_ = len(image)
        for _ in range(2):
            again = self._image_of(step_as_fitted(), example[:1].copy())
            if again.tobytes() != image.tobytes():
                raise ValueError(
                    f"step {type(self.step).__name__} must return the same output for the same "
                    "row, but it is random or has memory. Pass another step, for example "
                    "RowByRow(Normalizer())."
                )
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what the fit of a private step requests, in the form of scikit-learn.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=type(self).__name__)
        if is_private(self.step):
            fits = MethodMapping().add(caller="fit", callee="fit")
            router.add(
                step=self.step, method_mapping=fits.add(caller="fit_transform", callee="fit")
            )
        return router

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Transform rows one at a time.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_rows, n_features_out_)
            Their images; zeros where the step fails, or returns NaN or another number of features.
        """
        check_is_fitted(self)
        X = read_rows(self, X, reset=False)
        step_as_fitted = _restored(self.step_)
        images = np.zeros((len(X), self.n_features_out_))
        row = np.empty((1, X.shape[1]))  # one address: it decides how sums are vectorized
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # they may name values
            for place in range(len(X)):
                row[0] = X[place]
                try:
                    image = self._image_of(step_as_fitted(), row)
                except MemoryError:  # not of this row
                    raise
                except Exception:  # an error would be an answer about this row
                    continue
                if len(image) == self.n_features_out_ and not np.isnan(image).any():
                    images[place] = image
        return saturated(images)

    def get_feature_names_out(self, input_features: None = None) -> np.ndarray:
        """Return names of the output features.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        return np.array([f"rowbyrow{i}" for i in range(self.n_features_out_)], dtype=object)

    def _image_of(self, step, row):
        image = step.transform(row)
        image = as_floats(image.toarray() if issparse(image) else image, "an image")
        if image.ndim != 2 or len(image) != 1:
            raise ValueError(
                f"step {type(self.step).__name__} must return one row for one row, an array of "
                "shape (1, n), for example image.reshape(1, -1)."
            )
        return image[0]

    def _sk_visual_block_(self):
        kind = "private" if is_private(self.step) else "public"
        if kind == "public" and any(faults_alone(self.step)):
            kind = "unknown"
        return captioned_block(self, f"{kind}: every row passes alone")


def _restored(step):
    """Return a function that returns the step in the state that it is in now.

    Arrays of scikit-learn's own steps are shared, and cannot be written; all else is a copy.
    """
    foreign = library_of(type(step)) != "sklearn"  # ours may hold a budget, which has no copies
    if foreign or any(callable(v) or hasattr(v, "transform") for v in step.get_params().values()):
        kept = copy.deepcopy(step)
        return lambda: copy.deepcopy(kept)
    arrays = []
    state = pickle.dumps(step, protocol=5, buffer_callback=arrays.append)
    arrays = [array.raw().toreadonly() for array in arrays]
    return lambda: pickle.loads(state, buffers=arrays)
