"""The first step of a pipeline: rows in the form that their schema declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._optional import import_optional
from .._parameters import OfColumns, PlainParameters, check_parameters
from .._pickles import VersionedPickle
from .._sklearn import captioned_block
from .._values import column_names, with_width
from ..schema import Schema
from ..schema._schema import warn_of_unnamed

if TYPE_CHECKING:
    from .._types import Rows


class SchemaTransformer(
    PlainParameters,
    VersionedPickle,
    OneToOneFeatureMixin,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,
):
    """Bring rows into the one form that a public schema declares.

    Steps of scikit-learn read, compare and round every row by the common type of all rows: one
    fraction, one string or one missing value among them changes what the others become. Behind this
    step every column has one type, whatever the rows hold, because each value is read by itself.
    Nothing is learned, so it costs no budget; :func:`~skdp_bary.check_private` wants it in front of
    every step of scikit-learn.

    Parameters
    ----------
    schema : Schema
        Public: what every column can hold. A kind of :mod:`skdp_bary.schema` stands for a schema
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
            Rows. Those that cannot be read are refused, and nothing is kept of the others.
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
        X_new : ndarray, sparse array or dataframe of shape (n_rows, n_columns)
            As ``transform`` returns them.
        """
        check_parameters(self)
        schema = self.schema if isinstance(self.schema, Schema) else Schema(self.schema)
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
        X_new : ndarray, sparse array or dataframe of shape (n_rows, n_columns)
            Where all columns are numbers, dates or flags: a C-ordered array of float64, or CSR for
            a sparse schema. Otherwise objects: a pandas dataframe for a pandas dataframe, with
            float64 for the numbers, or an array. ``set_output(transform="pandas")`` always gives
            dataframes.
        """
        check_is_fitted(self)
        X = with_width(X, self.n_features_in_)
        if self.schema_.width_of(X) != self.n_features_in_ or self.schema_.names is None:
            validate_data(self, X, skip_check_array=True, reset=False)
        if self.schema_.sparse:
            return self.schema_.read_sparse(X)
        columns = self.schema_.read(X)
        wanted = getattr(self, "_sklearn_output_config", {}).get("transform")
        if wanted == "pandas" or (wanted is None and _is_pandas(X) and not self.schema_.numeric):
            return self._frame(columns, X)
        dtype = np.float64 if self.schema_.numeric else object
        rows = np.empty((len(columns[0]), len(columns)), dtype=dtype)
        for place, values in enumerate(columns):
            rows[:, place] = values
        return rows

    def set_output(self, *, transform: Literal["default", "pandas"] | None = None) -> Self:
        """Choose what ``transform`` returns.

        Parameters
        ----------
        transform : {"default", "pandas"} or None, default=None
            "default" returns arrays, "pandas" dataframes; None changes nothing.

        Returns
        -------
        self : object
        """
        if transform not in (None, "default", "pandas"):
            raise ValueError(f'transform must be "default" or "pandas", got {transform!r}.')
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    @property
    def output_bounds_(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Lowest and highest values of the columns, or None: give it to the next step as bounds."""
        check_is_fitted(self)
        return self.schema_.ranges(self.n_features_in_)

    def _frame(self, columns, X):
        pandas = import_optional("pandas", "cli", 'set_output(transform="pandas")')
        names = getattr(self, "feature_names_in_", self.get_feature_names_out())
        index = X.index if _is_pandas(X) else None
        # a dtype that pandas chose would depend on the rows
        series = (
            pandas.Series(values, index=index, dtype=values.dtype, copy=False) for values in columns
        )
        frame = pandas.concat(series, axis=1)
        frame.columns = list(names)
        return frame

    def _known_features(self):
        schema = self.schema if isinstance(self.schema, Schema) else Schema(self.schema)
        return schema.n_columns

    def _sk_visual_block_(self):
        return captioned_block(self, "public: every value is read by itself")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _is_pandas(X):
    return hasattr(X, "iloc")
