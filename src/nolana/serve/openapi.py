"""The description of the endpoints (OpenAPI 3.1), with the columns of the model."""

from typing import TYPE_CHECKING, Any

import nolana
from nolana.serve.bodies import ARROW, JSON, LINES, LONGEST_ID

if TYPE_CHECKING:
    from nolana.serve.service import Service

__all__ = ["description"]

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
}
QUARANTINED = "Some rows have a label that is no class of the model: they are on the disk, and not learned."
LOG_REFUSED = {"403": "The service is read-only.", "507": "The log cannot be written; nothing was learned."}


def description(service: "Service") -> dict[str, object]:
    """The document at /openapi.json."""
    numbers = {"type": "array", "items": {"type": ["number", "null"]}}
    table = {"type": "array", "items": numbers}
    labels = {"type": "array", "items": _label(service)}
    names = {"type": "array", "items": {"type": "string"}, "description": "Keys that are not columns of the model."}
    id = {"type": ["string", "integer"], "maxLength": LONGEST_ID}
    schemas = {
        "Row": _row(service),
        "Label": _label(service),
        "Predict": {
            "type": "object",
            "required": ["rows"],
            "properties": {
                "rows": _list("Row"),
                "id": id | {"description": "Stores the rows until their labels come."},
                "level": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "exclusiveMaximum": 1,
                    "default": 0.9,
                    "description": "How often sets hold the label, or low and high the target. Sets need it.",
                },
            },
        },
        "Predictions": {
            "type": "object",
            "properties": {
                "predictions": labels,
                "classes": labels | {"description": "The order of the probabilities."},
                "probabilities": table,
                "sets": {"type": "array", "items": labels | {"description": "Labels that are possible, by the level."}},
                "low": numbers,
                "high": numbers | {"description": "Targets are between low and high as often as the level says."},
                "uncertainty": numbers
                | {"description": "1 - the probability of the prediction; of a number half of high - low."},
                "rows": {"type": "integer", "description": "Rows that the model has learned."},
                "stored": {"type": "boolean", "description": "Whether the rows wait for their labels."},
                "unknown_columns": names,
            },
        },
        "Learn": {
            "type": "object",
            "description": "Rows and labels; or the id and the labels of rows that were predicted with this id.",
            "properties": {
                "rows": _list("Row"),
                "labels": _list("Label"),
                "label": {"$ref": "#/components/schemas/Label"},
                "id": id | {"description": "A request with an id that was learned before is not learned again."},
            },
        },
        "Learned": {
            "type": "object",
            "properties": {
                "rows": {"type": "integer"},
                "duplicate": {"type": "boolean"},
                "position": {
                    "type": ["integer", "null"],
                    "description": "The number of the record in the log; null if all rows are in quarantine.",
                },
                "predictions": labels
                | {"description": "From before the rows were learned; null for rows in quarantine."},
                "classes": labels,
                "scores": {"description": "From before the rows were learned.", "anyOf": [numbers, table]},
                "quarantined": {
                    "type": "array",
                    "description": "Rows that are kept and not learned: their label is no class of the model.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "row": {"type": "integer", "description": "From 1."},
                            "label": {"$ref": "#/components/schemas/Label"},
                        },
                    },
                },
                "message": {"type": "string"},
                "unknown_columns": names,
            },
        },
        "Choice": {
            "type": "object",
            "description": "Labels in quarantine to make classes, so that their rows are learned; labels to delete.",
            "properties": {"accept": _list("Label"), "discard": _list("Label")},
        },
        "Classes": {
            "type": "object",
            "properties": {
                "classes": labels,
                "quarantine": {
                    "type": "array",
                    "description": "The most frequent labels in quarantine.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "label": {"$ref": "#/components/schemas/Label"},
                            "rows": {"type": "integer"},
                        },
                    },
                },
                "learned": {"type": "integer", "description": "Rows of the classes that were accepted."},
                "discarded": {"type": "integer", "description": "Rows that were deleted."},
            },
        },
        "Error": {
            "type": "object",
            "required": ["error"],
            "properties": {
                "error": {"type": "string"},
                "row": {"type": "integer", "description": "From 1."},
                "column": {"type": "string"},
                "value": {"description": "What was found."},
                "expected": {"description": "What would be valid."},
                "remedies": {
                    "type": "array",
                    "description": "Options of the service that help; a value of null is yours to choose.",
                    "items": {"type": "object", "properties": {"option": {"type": "string"}, "value": {}}},
                },
                "problems": {
                    "type": "array",
                    "description": "If there are several: the first 10, with the same fields.",
                    "items": {"$ref": "#/components/schemas/Error"},
                },
            },
        },
    }
    learn = _post("Learn rows; the answer comes when they are on the disk and learned", "Learn", "Learned")
    learn["responses"]["202"] = {"description": QUARANTINED, "content": {JSON: _content("Learned")}}
    learn["responses"] |= _refusals(
        LOG_REFUSED
        | {
            "404": "No rows are stored for this id.",
            "409": "The id was learned with another label; nothing has changed.",
        }
    )
    choose = _post("Accept or discard labels in quarantine", "Choice", "Classes")
    del choose["parameters"], choose["requestBody"]["content"][LINES[0]], choose["requestBody"]["content"][ARROW]
    choose["responses"] |= _refusals(
        LOG_REFUSED
        | {
            "404": "No row in quarantine has this label.",
            "409": "The classes of the service are fixed, or it has no model.",
        }
    )
    predict = _post("Predict rows", "Predict", "Predictions")
    predict["responses"] |= _refusals(
        LOG_REFUSED | {"409": "The model has learned nothing yet, or other rows are stored for this id."}
    )
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
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _row(service: "Service") -> dict[str, object]:
    if service.model is None:
        return {"type": ["object", "array"], "description": "The first rows decide the columns."}
    reader = service.model.reader
    columns = {name: {"type": KINDS[planned.kind]} for name, planned in zip(reader.names, reader.planned, strict=True)}
    return {
        "type": ["object", "array"],
        "description": "An object by column, or an array of the values of these columns in their order.",
        "properties": columns,
        "maxItems": len(columns),
    }


def _label(service: "Service") -> dict[str, object]:
    kind = None if service.model is None else service.model.reader.plan.labels
    return {} if kind is None else {"type": LABEL_TYPES[kind]}


def _list(schema: str) -> dict[str, object]:
    return {"type": "array", "items": {"$ref": f"#/components/schemas/{schema}"}}


def _content(schema: str) -> dict[str, object]:
    return {"schema": {"$ref": f"#/components/schemas/{schema}"}}


def _post(summary: str, request: str, answer: str) -> dict[str, Any]:
    about = "The id of JSON lines and of Arrow streams; JSON has it in the body."
    return {
        "summary": summary,
        "parameters": [{"name": "id", "in": "query", "description": about, "schema": {"type": "string"}}],
        "requestBody": {
            "required": True,
            "content": {JSON: _content(request), LINES[0]: _content("Row"), ARROW: {"schema": {"type": "string"}}},
        },
        "responses": {"200": {"description": "Done.", "content": {JSON: _content(answer)}}, **_refusals(REFUSED)},
    }


def _refusals(statuses: dict[str, str]) -> dict[str, object]:
    return {status: {"description": text, "content": {JSON: _content("Error")}} for status, text in statuses.items()}


def _get(summary: str, kind: str, schema: str | None = None) -> dict[str, object]:
    content = {"schema": {}} if schema is None else _content(schema)
    return {"summary": summary, "responses": {"200": {"description": "Done.", "content": {kind: content}}}}
