"""The options of a source, declared once; ``open``, runs and the command line all take them from here."""

import codecs
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from nolana.columns.times import seconds
from nolana.errors import OptionError, Setting
from nolana.sources.bad_rows import BadRows, NewColumns, policy
from nolana.sources.declaration import Options, at_least, option

__all__ = [
    "Arguments", "Categories", "Column", "ColumnKind", "ColumnNumber", "Encoding", "Growing", "LabelKind", "Missing",
    "SourceOptions", "Target", "column_of_text", "column_title", "columns_of_text",
]  # fmt: skip

Column = str | int
Target = Column | Literal[False] | None
ColumnKind = Literal["number", "bool", "time", "date", "text", "words", "ignored"]
LabelKind = Literal["int", "float", "bool", "text"]
Categories = Literal["native", "error", "hash", "onehot"]
Missing = Literal["native", "error", "mean", "indicator"]
Growing = Literal["keep", "leave_out"]
LastLine = Literal["take", "leave"]
ONLY_NUMBERS = {"categories": "onehot", "missing": "mean"}  # of a learner that takes neither strings nor NaN


class ColumnNumber(int):
    """A column as the command line and messages count, ``number`` from 1; as an int it is the index from 0."""

    number: int

    def __new__(cls, number: int) -> "ColumnNumber":
        column = super().__new__(cls, number - 1)
        column.number = number
        return column


def column_of_text(text: str) -> Column:
    """A column as the command line names it: by name, by number from 1, or by number from the end, -1 for the last.

    >>> column_of_text("kind"), column_of_text("-1"), column_of_text("3").number
    ('kind', -1, 3)
    """
    if not text.lstrip("-").isdigit():
        return text
    return int(text) if text.startswith("-") else ColumnNumber(int(text))


def column_title(column: Column) -> str:
    """What a summary calls a column: its name, or its number from 1."""
    return column if isinstance(column, str) else f"column {column + 1}"


def columns_of_text(text: str) -> tuple[Column, ...]:
    """Columns separated by commas.

    >>> columns_of_text("kind, -1")
    ('kind', -1)
    """
    return tuple(column_of_text(name.strip()) for name in text.split(",") if name.strip())


def _columns(name: str, value: Iterable[Column]) -> tuple[Column, ...]:
    if isinstance(value, str):
        raise TypeError(f"{name}={value!r} is a string; pass a list of columns, [{value!r}]")
    return tuple(value)


def _delimiter(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) != 1 or not value.isascii() or value.isalnum() or value in '"\r\n+-.':
        raise OptionError(name, value, "cannot separate fields; use one character such as ',' or '\\t'")
    return value


def _decimal(name: str, value: object) -> str:
    if value not in (".", ","):
        raise OptionError(name, value, "is not a decimal character; use '.' or ','")
    return str(value)


def _encoding(name: str, value: str) -> str:
    try:
        return codecs.lookup(value).name
    except (LookupError, TypeError):
        raise OptionError(name, value, "is unknown; use a name such as utf-8, latin-1 or utf-16") from None


def _comment(name: str, value: object) -> str:
    if (
        not isinstance(value, str)
        or not value.isascii()
        or not value.strip()
        or value[0].isalnum()
        or value[0] in '"{['
    ):
        raise OptionError(name, value, "cannot begin a comment; use for example '#' or '//'")
    return value


def _bad_row_policy(_: str, value: str | BadRows) -> str | BadRows:
    policy(value)
    return value


def _names(name: str, value: Iterable[Column]) -> tuple[str, ...]:
    names = _columns(name, value)
    if not names or not all(isinstance(each, str) and each for each in names):
        raise OptionError(name, value, "has a name that is no string, or empty")
    return tuple(map(str, names))


def _start(name: str, value: object) -> str:
    if value not in ("earliest", "latest") and (not isinstance(value, str) or seconds(value) is None):
        raise OptionError(name, value, "is not earliest, latest or a time such as 2026-11-18T09:30")
    return str(value)


def _partitions(name: str, value: Collection[int]) -> tuple[int, ...]:
    if isinstance(value, str) or not value or any(isinstance(p, bool) or not isinstance(p, int) for p in value):
        raise OptionError(name, value, "are no numbers of partitions such as 0,2")
    return tuple(sorted(set(value)))


def _numbers(text: str) -> list[int | str]:
    return [int(part) if part.strip().isdigit() else part for part in text.split(",")]


def _format_names() -> Iterable[str]:
    from nolana.sources.formats import FORMATS  # which imports the readers, and they import this module

    return FORMATS


@dataclass(frozen=True, kw_only=True)
class Selection(Options):
    """Which columns are read."""

    target: Target = option(
        help="Column of the label, by name or number. Default: the last column; for LIBSVM the label of the line.",
        metavar="COLUMN",
        details="In Python a number is an index from 0, and may be negative. JSON lines: the last key of the first "
        "object. False: there is no label, and ``y`` is None.",
        parse=column_of_text,
    )
    features: Sequence[Column] | None = option(
        help="Columns to learn from, by name or number. Default: all but the target.",
        metavar="COLUMN,...",
        details="They become X in this order. LIBSVM: the indices as the file counts them.",
        check=_columns,
        parse=columns_of_text,
    )
    ignore: Sequence[Column] | None = option(
        help="Columns to leave out, by name or number.", metavar="COLUMN,...", check=_columns, parse=columns_of_text
    )
    keep_column: Sequence[Column] | None = option(
        help="Columns to learn from although they grow without bound (row numbers, counters, UNIX times); of a date, "
        "the seconds since 1970.",
        metavar="COLUMN,...",
        details='It needs ``growing="leave_out"``; otherwise all columns are read as they are.',
        check=_columns,
        parse=columns_of_text,
    )
    categorical_features: Sequence[Column] | None = option(
        help="Columns that are categories whatever they look like (codes, identifiers), by name or number. Default: "
        "those whose first rows are neither numbers, nor true and false, nor dates.",
        metavar="COLUMN,...",
        check=_columns,
        parse=columns_of_text,
    )
    text_features: Sequence[Column] | None = option(
        help="Columns of text whose words are learned, by name or number. Default: none; text is a category.",
        metavar="COLUMN,...",
        details='Rows are then sparse, all columns hashed. It needs ``categories="native"``.',
        check=_columns,
        parse=columns_of_text,
    )
    labels: LabelKind | None = option(
        help="Type of the labels. Default: inferred from the first block.", choices=("int", "float", "bool", "text")
    )


@dataclass(frozen=True, kw_only=True)
class Encoding(Options):
    """How columns become numbers; a plan stores it."""

    categories: Categories = option(
        "native",
        help="How a column of strings is learned: native as categories, by their own effects; hash and onehot as "
        "several numbers; error refuses it. Default: native, or onehot for a method that learns numbers alone.",
        details='"native": one column that holds the keys of `nolana.columns`; '
        '"hash": +1 or -1 in one of ``hash_slots`` columns, chosen by a stable hash; "onehot": 1 in a column '
        "of its own in order of appearance, or in one more column that all later strings share.",
        choices=("native", "error", "hash", "onehot"),
    )
    hash_slots: int = option(
        16, help="hash: number of columns that a column of text becomes.", check=at_least(1), kind=int
    )
    max_categories: int = option(
        32,
        help="onehot: strings that get a column of their own: exactly this number if you set it, otherwise as many as "
        "the first block of a file has, a quarter more and one, at most this number.",
        check=at_least(1),
        kind=int,
    )
    missing: Missing = option(
        "native",
        help="Missing values (empty, NA, NaN, null, no such key): native learns that they are missing, mean and "
        "indicator replace them, error refuses the row. Default: native, or mean for a method that learns numbers "
        "alone.",
        details='"native": NaN; '
        '"mean": by the mean of the column over the rows before, 0 at first (a category: zeros); '
        '"indicator": the same, and after all features one column for each that is 1 if it was missing.',
        choices=("native", "error", "mean", "indicator"),
    )


@dataclass(frozen=True, kw_only=True)
class SourceOptions(Encoding, Selection):
    """All options of a source."""

    format: str | None = option(
        help="Format of the source. Default: detected from the first bytes, the file name, then the first line.",
        details="Parquet and Arrow need the extra ``arrow``.",
        choices=_format_names,
        saved=False,
    )
    header: bool | None = option(
        help="CSV: the first line has the names of the columns. Default: detected.",
        details="It has names where none of its features is a number, a date or a time.",
        kind=bool,
        saved=False,
    )
    names: Sequence[str] | None = option(
        help="CSV without a header: the names of the columns, separated by commas.",
        metavar="NAME,...",
        details="If there is a header they replace its names.",
        check=_names,
        parse=lambda text: tuple(name.strip() for name in text.split(",")),
        saved=False,
    )
    delimiter: str | None = option(
        help="CSV: the character between fields. Default: detected.",
        details="It is the one of ``,`` ``;`` and tab that splits the first line into most fields.",
        check=_delimiter,
        saved=False,
    )
    encoding: str | None = option(
        help="Encoding of the text, such as latin-1 or utf-16. Default: detected, otherwise UTF-8.",
        details="UTF-16 and UTF-32 are detected by their byte order mark, Latin-1 by letters in the first 64 KB.",
        check=_encoding,
        saved=False,
    )
    decimal: str | None = option(
        help='CSV: the decimal character, "." or ",". Default: ".".',
        check=_decimal,
        saved=False,
    )
    comment: str | None = option(
        help='CSV and JSON lines: lines that begin with this are comments, for example "#".',
        check=_comment,
        saved=False,
    )
    n_features: int | None = option(
        help="LIBSVM: number of features. Default: the largest index of the file, or of the first block of a pipe.",
        details="To find it a file is read once more. An index beyond it is an error.",
        check=at_least(1),
        kind=int,
    )
    growing: Growing = option(
        "keep",
        help="Columns that grow without bound in the first block.",
        details='"keep": as they are, dates and times as seconds since 1970; "leave_out", as the commands do: row '
        "numbers, counters and UNIX times are left out with a warning, and dates and times become circles of hour, "
        "weekday and day of the year; with other ``categories`` than native hour (0 to 24), weekday (0 is Monday) and, "
        "if the first block covers a year, day of the year (from 0).",
        choices=("keep", "leave_out"),
        flag="",
        saved=False,
    )
    only_numbers: bool = option(
        False,
        help="The learner takes numbers alone: the default of categories is onehot, that of missing is mean.",
        kind=bool,
        flag="",
        saved=False,
    )
    new_columns: NewColumns = option(
        "warn",
        help="Columns, keys and categories that the first block did not have: warn leaves them out, counts them and "
        "warns, ignore does not warn, error ends the run.",
        details="The counts are in ``stream.new_columns``.",
        choices=("warn", "ignore", "error"),
        saved=False,
    )
    zero_based: bool = option(False, help="LIBSVM: indices count from 0 instead of 1.", kind=bool)
    on_bad_row: str | BadRows = option(
        "error",
        help="Invalid rows: error ends the run, skip leaves them out and counts them, quarantine=FILE also appends "
        "them to a file.",
        details="The file has JSON lines. Or a ``BadRows`` object. The counts are in ``stream.bad_rows`` and "
        "``stream.bad_rows_by_reason``.",
        check=_bad_row_policy,
        saved=False,
    )
    last_line: LastLine | None = option(
        help="A last line without a line end: take it, or leave it for the next run. Default: leave for learn, "
        "otherwise take.",
        details="It may still be written. Only a plain file can leave it; ``stream.unfinished_line`` is its number.",
        choices=("take", "leave"),
        saved=False,
    )
    from_: str = option(
        "earliest",
        help="Messages: where partitions without a position begin: earliest, latest, or at a time such as "
        "2026-11-18T09:30; and where reading continues if messages after the position were deleted, which is an error "
        "without this option.",
        metavar="WHEN",
        check=_start,
        saved=False,
    )
    follow: bool = option(
        False,
        help="Messages: wait for more at the end. Without it the source ends where it ended when it was opened.",
        kind=bool,
        saved=False,
    )
    partitions: Sequence[int] | None = option(
        help="Kafka: the partitions to read, such as 0,2. Default: all.",
        metavar="NUMBER,...",
        check=_partitions,
        parse=_numbers,
        saved=False,
    )
    kafka_config: str | None = option(
        help="Kafka: a file of properties of librdkafka, name=value on each line: user, password, TLS.",
        metavar="FILE",
        saved=False,
    )
    block_rows: int = option(
        1000, help="Rows of a block; the last one may be shorter.", check=at_least(1), kind=int, flag="", saved=False
    )
    chunk_bytes: int = option(
        1 << 20, help="Bytes of text read at a time.", check=at_least(1), kind=int, flag="", saved=False
    )

    @property
    def columns_as_numbers(self) -> Encoding:
        """The part that a plan stores."""
        own = {field.name: getattr(self, field.name) for field in fields(Encoding)}
        fills = self.missing in ("mean", "indicator")
        if fills and self.specified.get("categories") == "native":
            what = "cannot be combined with {categories}, which learns what is missing"
            raise OptionError("missing", self.missing, what, facts={"categories": Setting("categories", "native")})
        defaults = ONLY_NUMBERS if self.only_numbers or fills else {}
        own |= {name: value for name, value in defaults.items() if name not in self.specified}
        if self.text_features and own["categories"] != "native":
            other = Setting("missing", self.missing) if fills else Setting("categories", own["categories"])
            what = "needs the method stream" if self.only_numbers else "cannot be combined with {other}"
            raise OptionError("text_features", list(self.text_features), what, facts={"other": other})
        return Encoding(**own)


@dataclass(frozen=True, kw_only=True)
class Arguments(SourceOptions):
    """The keyword arguments of ``nolana.sources.open``: the options, and what another stream has left."""

    plan: Mapping[str, object] | None = option(
        help="``stream.plan`` of another stream: the same columns, by name in any order, become the same X."
    )
    encoder: Mapping[str, object] | None = option(
        help='``stream.state()["encoder"]`` of another stream: its means and categories, which these rows do not '
        "change, as predictions need it."
    )
    resume: Mapping[str, object] | None = option(
        help="``stream.state()`` of a stream of this source: the blocks continue from there, bit for bit.",
        details="A plain file is read from that position, any other source is read again up to it. "
        'With ``"position"`` set to None the source is another one, read from its beginning with the same columns.',
    )
