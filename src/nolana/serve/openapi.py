"""The description of the endpoints (OpenAPI 3.1), with the columns of the model."""

from typing import TYPE_CHECKING

import nolana
from nolana.serve.bodies import ARROW, JSON, LINES, LONGEST_ID

if TYPE_CHECKING:
    from nolana.serve.service import Service

__all__ = ["description"]

Schema = dict[str, object]

KINDS: dict[str, list[str]] = {
    "number": ["number", "string", "null"], "bool": ["boolean", "null"], "time": ["string", "null"],
    "date": ["string", "number", "null"], "text": ["string", "number", "boolean", "null"], "words": ["string", "null"],
    "ignored": ["string", "number", "boolean", "null"],
}  # fmt: skip
LABEL_TYPES = {"int": "integer", "float": "number", "bool": "boolean", "text": "string"}
REFUSED = {
    "400": "The request is invalid; nothing has changed.",
    "401": "The token is missing or wrong.",
    "413": "The request is too large.",
    "415": "The content type cannot be read.",
    "429": "The queue is full; retry after Retry-After seconds.",
    "503": "The service ends or did not answer in time; retry with the same id.",
    "403": "The service is read-only.",
    "507": "The log cannot be written; nothing was learned.",
}
DONE = {"200": "Done."}
HELD = {"202": "Some rows have a label that is no class of the model: they are on the disk, and not learned."}
PREDICT_REFUSED = {"409": "The model has learned nothing yet, or other rows are stored for this id."}
LEARN_REFUSED = {
    "404": "No rows are stored for this id.",
    "409": "The id was learned with another label; nothing has changed.",
}
CHOICE_REFUSED = {
    "404": "No row in quarantine has this label.",
    "409": "The classes of the service are fixed, or it has no model.",
}


def description(service: "Service") -> Schema:
    """The document at /openapi.json."""
    predict = _post("Predict rows", "Predict", "Predictions", DONE, PREDICT_REFUSED)
    about = "Learn rows; the answer comes when they are on the disk and learned"
    learn = _post(about, "Learn", "Learned", DONE | HELD, LEARN_REFUSED)
    choose = _post("Accept or discard labels in quarantine", "Choice", "Classes", DONE, CHOICE_REFUSED, rows=False)
    paths = {
        "/predict": {"post": predict},
        "/learn": {"post": learn},
        "/classes": {"get": _get("The classes, and the labels in quarantine", JSON, "Classes"), "post": choose},
        "/model": {"get": _get("The current model file", "application/octet-stream")},
        "/metrics": {"get": _get("Metrics in the text format of Prometheus", "text/plain")},
        "/healthz": {"get": _get("200 if the service works, otherwise 503", JSON) | {"security": []}},
        "/events": {"get": _get("The summary, once a second, as server-sent events", "text/event-stream")},
        "/": {"get": _get("The live page", "text/html") | {"security": []}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "nolana serve", "version": nolana.__version__},
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": _schemas(service),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


# Endpoints


def _post(
    summary: str, request: str, answer: str, done: dict[str, str], refused: dict[str, str], *, rows: bool = True
) -> Schema:
    """An endpoint that takes JSON; ``rows``: also JSON lines and Arrow streams, whose id is in the query."""
    content = {JSON: _content(request)}
    answers = {status: _response(text, JSON, answer) for status, text in done.items()}
    refusals = {status: _response(text, JSON, "Error") for status, text in (REFUSED | refused).items()}
    found: Schema = {"summary": summary, "responses": answers | refusals}
    if rows:
        content |= {LINES[0]: _content("Row"), ARROW: {"schema": {"type": "string"}}}
        about = "The id of JSON lines and of Arrow streams; JSON has it in the body."
        found["parameters"] = [{"name": "id", "in": "query", "description": about, "schema": {"type": "string"}}]
    return found | {"requestBody": {"required": True, "content": content}}


def _get(summary: str, kind: str, schema: str | None = None) -> Schema:
    return {"summary": summary, "responses": {"200": _response("Done.", kind, schema)}}


def _response(text: str, kind: str, schema: str | None) -> Schema:
    return {"description": text, "content": {kind: {"schema": {}} if schema is None else _content(schema)}}


def _content(schema: str) -> Schema:
    return {"schema": _ref(schema)}


# Schemas


def _schemas(service: "Service") -> dict[str, Schema]:
    model = service.model
    label: Schema = {}
    if model is not None and model.reader.plan.labels is not None:
        label = {"type": LABEL_TYPES[model.reader.plan.labels]}
    labels = _array(label)
    numbers = _array({"type": ["number", "null"]})
    id = {"type": ["string", "integer"], "maxLength": LONGEST_ID}
    unknown_columns = _array({"type": "string"}, "Keys that are not columns of the model.")
    level = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.9}
    return {
        "Row": _row(service),
        "Label": label,
        "Predict": _object(
            rows=_array(_ref("Row")),
            id=id | _about("Stores the rows until their labels come."),
            level=level | _about("How often sets hold the label, or low and high the target. Sets need it."),
        )
        | {"required": ["rows"]},
        "Predictions": _object(
            predictions=labels,
            classes=labels | _about("The order of the probabilities."),
            probabilities=_array(numbers),
            sets=_array(labels | _about("Labels that are possible, by the level.")),
            low=numbers,
            high=numbers | _about("Targets are between low and high as often as the level says."),
            uncertainty=numbers | _about("1 - the probability of the prediction; of a number half of high - low."),
            rows=_integer("Rows that the model has learned."),
            stored={"type": "boolean"} | _about("Whether the rows wait for their labels."),
            unknown_columns=unknown_columns,
        ),
        "Learn": _object(
            rows=_array(_ref("Row")),
            labels=_array(_ref("Label")),
            label=_ref("Label"),
            id=id | _about("A request with an id that was learned before is not learned again."),
        )
        | _about("Rows and labels; or the id and the labels of rows that were predicted with this id."),
        "Learned": _object(
            rows={"type": "integer"},
            duplicate={"type": "boolean"},
            position={"type": ["integer", "null"]}
            | _about("The number of the record in the log; null if all rows are in quarantine."),
            predictions=labels | _about("From before the rows were learned; null for rows in quarantine."),
            classes=labels,
            scores={"anyOf": [numbers, _array(numbers)]} | _about("From before the rows were learned."),
            quarantined=_array(
                _object(row=_integer("From 1."), label=_ref("Label")),
                "Rows that are kept and not learned: their label is no class of the model.",
            ),
            message={"type": "string"},
            unknown_columns=unknown_columns,
        ),
        "Choice": _object(accept=_array(_ref("Label")), discard=_array(_ref("Label")))
        | _about("Labels in quarantine to make classes, so that their rows are learned; labels to delete."),
        "Classes": _object(
            classes=labels,
            quarantine=_array(
                _object(label=_ref("Label"), rows={"type": "integer"}), "The most frequent labels in quarantine."
            ),
            learned=_integer("Rows of the classes that were accepted."),
            discarded=_integer("Rows that were deleted."),
        ),
        "Error": _object(
            error={"type": "string"},
            row=_integer("From 1."),
            column={"type": "string"},
            value=_about("What was found."),
            expected=_about("What would be valid."),
            remedies=_array(
                _object(option={"type": "string"}, value={}),
                "Options of the service that help; a value of null is yours to choose.",
            ),
            problems=_array(_ref("Error"), "If there are several: the first 10, with the same fields."),
        )
        | {"required": ["error"]},
    }


def _row(service: "Service") -> Schema:
    kind: Schema = {"type": ["object", "array"]}
    if service.model is None:
        return kind | _about("The first rows decide the columns.")
    reader = service.model.reader
    columns = {name: {"type": KINDS[planned.kind]} for name, planned in zip(reader.names, reader.planned, strict=True)}
    about = "An object by column, or an array of the values of these columns in their order."
    return kind | _about(about) | {"properties": columns, "maxItems": len(columns)}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _array(items: Schema, about: str | None = None) -> Schema:
    return {"type": "array", "items": items} | ({} if about is None else _about(about))


def _integer(about: str) -> Schema:
    return {"type": "integer"} | _about(about)


def _about(text: str) -> Schema:
    return {"description": text}


def _ref(schema: str) -> Schema:
    return {"$ref": f"#/components/schemas/{schema}"}
