"""Options of a source: declared once, and everywhere the same."""

import inspect
import io

import pytest

from nolana import streams
from nolana.sources.declaration import declared
from nolana.sources.formats import FORMATS
from nolana.sources.options import Arguments, SourceOptions
from nolana.sources.plan import Plan


def test_open_takes_every_declared_option_with_its_default():
    options = declared(Arguments)
    parameters = dict(inspect.signature(streams.open).parameters)
    assert parameters.pop("source").default is inspect.Parameter.empty
    assert {name: parameter.default for name, parameter in parameters.items()} == {
        name: option.default for name, option in options.items()
    }
    for name in options:
        assert f"\n    {name} : " in streams.open.__doc__
    with pytest.raises(TypeError, match="unexpected keyword argument 'targte'"):
        streams.open(io.BytesIO(b"1,2\n"), targte=0)


def test_what_is_specified_is_known_even_where_it_is_the_default():
    options = SourceOptions(missing="native", features=["a", 1], target=None)
    assert options.specified == {"features": ("a", 1), "missing": "native"}
    assert options.to_save == {"features": ["a", 1], "missing": "native"}
    assert options == SourceOptions(features=["a", 1])
    assert SourceOptions(format="csv", header=True, on_bad_row="skip").to_save == {}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"labels": "strings"}, "labels='strings' is not one of: int, float, bool, text"),
        ({"missing": "guess"}, "missing='guess' is not one of: native, error, mean, indicator"),
        ({"max_categories": True}, "max_categories=True is not an integer of at least 1"),
        ({"chunk_bytes": 0}, "chunk_bytes=0 is not an integer of at least 1"),
        ({"delimiter": "ab"}, "delimiter='ab' cannot separate fields"),
        ({"on_bad_row": "cry"}, "on_bad_row='cry' is not"),
        ({"format": "xml"}, f"format='xml' is not one of: {', '.join(FORMATS)}"),
    ],
)
def test_an_invalid_value_is_refused_before_the_source_is_opened(option, message):
    with pytest.raises(ValueError, match=message):
        SourceOptions(**option)
    with pytest.raises(ValueError, match=message):
        streams.open("/nowhere/at/all.csv", **option)


def test_the_options_of_a_format_are_declared():
    for format in FORMATS.values():
        assert set(format.own_options) <= set(declared(SourceOptions))
        assert format.endings
        assert format.title


def test_a_format_is_a_class_and_a_line(monkeypatch):
    """A format needs nothing but its class in the list: it is detected by its ending and offered in errors."""
    from nolana.sources import formats

    class Semicolons(formats.CsvReader):
        format, title, endings, own_options = "semicolons", "semicolons", ("scsv",), ()

        @classmethod
        def recognises(cls, line):
            return False

    monkeypatch.setitem(formats.FORMATS, "semicolons", Semicolons)
    file = io.BytesIO(b"a;b\n1;2\n")
    file.name = "rows.scsv"
    with streams.open(file) as stream:
        assert Plan.from_dict(stream.plan).format == "semicolons"
        assert stream.gather()[0].tolist() == [[1]]
    with pytest.raises(ValueError, match=r"is not one of: .*semicolons"):
        streams.open(io.BytesIO(b"1,2\n"), format="xml")
    file.seek(0)
    with pytest.raises(ValueError, match=r"delimiter=';' is for format 'csv'; rows.scsv is read as 'semicolons'"):
        streams.open(file, delimiter=";")
