"""Typed columns: tables of any library as rows of numbers, with a schema that model files hold."""

from nolana.columns.encode import WidthError, encode, encode_column, encode_table
from nolana.columns.infer import infer_schema
from nolana.columns.keys import key, keys
from nolana.columns.schema import Column, EncodedRows, Schema
from nolana.columns.tables import Table, table_of
from nolana.columns.values import ColumnProblem

__all__ = [
    "Column", "ColumnProblem", "EncodedRows", "Schema", "Table", "WidthError", "encode", "encode_column",
    "encode_table", "infer_schema", "key", "keys", "table_of",
]  # fmt: skip
