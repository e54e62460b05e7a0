"""The OpenAPI document of the API, made of the resources that it serves.

python -m centime.serve.openapi > docs/openapi.json
"""

import json
import sys
from typing import Any, get_type_hints

import msgspec

import centime
from centime.serve.fields import FIELDS, JSON_TYPES
from centime.serve.ordering import COLUMNS
from centime.serve.reports import ALL
from centime.serve.resource import Resource

PREFIX = "/api/v1"
ORDER_FIELDS = {
    "order": "set, ban, boost, publish, subscribe or unsubscribe.",
    "values": "Of set: NAME=VALUE, separated by blanks, as centime set takes them.",
    "host": "Of ban: the host.",
    "pattern": "Of boost and subscribe: a pattern of URLs.",
    "weight": "Of boost: the weight of these pages.",
    "urls": "Of publish: URLs, sitemap:URL or feed:URL, separated by blanks.",
    "publisher": "Of publish: who announces.",
    "to": "Of subscribe: an http or https URL.",
    "every": "Of subscribe: the least time between two notices, such as 1h.",
    "xpath": "Of subscribe: the part of pages that counts.",
    "name": "Of subscribe and unsubscribe: the name of the subscription.",
}


def openapi() -> dict[str, Any]:
    """The document."""
    crawl = {"name": "crawl", "in": "path", "required": True, "schema": {"type": "string"}}
    paths: dict[str, Any] = {
        f"{PREFIX}/crawls": {"get": _operation("The crawls that are served.", [], _rows(("name", "folder", "trouble")))}
    }
    for resource in ALL:
        parameters = [crawl, *_parameters(resource)]
        paths[f"{PREFIX}/crawls/{{crawl}}/{resource.name}"] = {
            "get": _operation(resource.summary, parameters, _report(resource))
        }
    events = _operation(
        "Visits, changes and figures as server-sent events; Last-Event-ID resumes.",
        [
            crawl,
            {
                "name": "kinds",
                "in": "query",
                "description": "visits, changes, figures; separated by commas. Default: all.",
                "schema": {"type": "string"},
            },
            {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}},
        ],
        {},
    )
    events["responses"]["200"] = {
        "description": "Events.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
    paths[f"{PREFIX}/crawls/{{crawl}}/events"] = {"get": events}
    order = _operation("Sends a command to the crawl, through its inbox.", [crawl], {"type": "object"})
    order["requestBody"] = {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["order"],
                    "properties": {
                        name: {"type": "string", "description": words} for name, words in ORDER_FIELDS.items()
                    },
                }
            }
        },
    }
    paths[f"{PREFIX}/crawls/{{crawl}}/orders"] = {
        "get": _operation("The commands given, newest first.", [crawl], _rows(COLUMNS)),
        "post": order,
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Centime",
            "version": "1",
            "summary": "Crawls that are kept ranked and fresh.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            "x-centime": centime.__version__,
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["error"],
                    "properties": {"error": {"type": "string"}, "hint": {"type": ["string", "null"]}},
                }
            },
        },
        "security": [{}, {"token": []}],
    }


def _operation(summary: str, parameters: list[dict[str, Any]], schema: dict[str, Any]) -> dict[str, Any]:
    wrong = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "summary": summary,
        "parameters": parameters,
        "responses": {
            "200": {"description": "The report.", "content": {"application/json": {"schema": schema}}},
            "default": {"description": "What is wrong, in words.", "content": wrong},
        },
    }


def _parameters(resource: Resource[Any]) -> list[dict[str, Any]]:
    hints = get_type_hints(resource.parameters, include_extras=True)
    required = {field.name for field in msgspec.structs.fields(resource.parameters) if field.required}
    made = []
    for field in msgspec.structs.fields(resource.parameters):
        schema = msgspec.json.schema(hints[field.name])
        if not field.required:
            schema["default"] = field.default
        made.append({"name": field.name, "in": "query", "required": field.name in required, "schema": schema})
    return made


def _report(resource: Resource[Any]) -> dict[str, Any]:
    return _rows(resource.columns, resource.optional) if resource.columns else {"type": "object"}


def _rows(columns: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    row = {
        "type": "object",
        "required": [name for name in columns if name not in optional],
        "properties": {name: _column(name) for name in columns},
    }
    return {
        "type": "object",
        "required": ["rows"],
        "properties": {
            "rows": {"type": "array", "items": row},
            "next": {"type": ["string", "null"], "description": "The cursor of the next part; null at the end."},
        },
    }


def _column(name: str) -> dict[str, Any]:
    field = FIELDS.get(name)
    if field is None:
        return {}
    kind = JSON_TYPES.get(field.kind, "string")
    return {"type": [kind, "null"], "description": field.meaning}


def written() -> str:
    """The document as the repository has it."""
    return json.dumps(openapi(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(written())
