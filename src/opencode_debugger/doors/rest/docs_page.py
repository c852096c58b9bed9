"""The page at /docs: the OpenAPI schema as one HTML page that needs nothing from the network."""

import json
from collections.abc import Iterator
from html import escape
from typing import Any

Schema = dict[str, Any]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What the page may load: nothing."""
STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: #2266cc; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
nav a { margin-right: 1rem; } a { color: var(--accent); }
pre { background: var(--soft); padding: .8rem; overflow-x: auto; border-radius: 6px; }
code { font-family: ui-monospace, monospace; font-size: 13px; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; } summary b { display: inline-block; min-width: 4.5rem; color: var(--accent); }
table { border-collapse: collapse; width: 100%; margin: .4rem 0 1rem; }
td, th { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line); }
"""


def render_page(schema: Schema) -> str:
    title = escape(schema["info"]["title"])
    body = "".join(page_sections(schema))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><h1>{title} <small>{escape(schema['info']['version'])}</small></h1>{body}</body></html>"
    )


def page_sections(schema: Schema) -> Iterator[str]:
    yield html_prose(schema["info"]["description"])
    yield "<nav>" + " ".join(f'<a href="#{anchor_name(tag["name"])}">{tag["name"]}</a>' for tag in schema["tags"])
    yield ' <a href="/openapi.json">openapi.json</a></nav>'
    for tag in schema["tags"]:
        yield f'<h2 id="{anchor_name(tag["name"])}">{tag["name"]}</h2><p>{escape(tag["description"])}</p>'
        for path, methods in schema["paths"].items():
            for method, operation in methods.items():
                if tag["name"] in operation["tags"]:
                    yield route_section(schema, method, path, operation)


def route_section(schema: Schema, method: str, path: str, operation: Schema) -> str:
    scopes = operation["security"][0]["token"]
    parts = [html_prose(operation.get("description", ""))]
    if scopes:
        parts.append(f"<p>Scopes: {' '.join(html_code(scope) for scope in scopes)}</p>")
    rows = []
    for item in operation.get("parameters", []):
        required, described = "required" if item.get("required") else "optional", escape(item.get("description", ""))
        rows.append([html_code(item["name"]), item["in"], type_of(item["schema"]), required, described])
    parts.append(html_table("Parameters", rows))
    if "requestBody" in operation:
        parts.append(request_body(schema, operation["requestBody"]))
    parts.append(response_rows(schema, operation["responses"]))
    head = f"<b>{method.upper()}</b> <code>{escape(path)}</code> · {escape(operation['summary'])}"
    return f'<details id="{operation["operationId"]}"><summary>{head}</summary>{"".join(parts)}</details>'


def request_body(schema: Schema, body: Schema) -> str:
    shape = body["content"]["application/json"]["schema"]
    parts = ["<h4>Body</h4>" + ("" if body.get("required") else "<p>May be left out.</p>")]
    for name, model in models_in(schema, shape):
        parts.append(html_table(name, field_rows(model)))
        examples = (json.dumps(value, indent=2) for value in model.get("examples", []))
        parts += [f"<pre><code>{escape(example)}</code></pre>" for example in examples]
    return "".join(parts)


def response_rows(schema: Schema, answers: Schema) -> str:
    parts: list[str] = []
    errors: list[list[str]] = []
    for status, answer in answers.items():
        shape = answer.get("content", {}).get("application/json", {}).get("schema", {})
        name = shape.get("$ref", "")
        if "ErrorEnvelope" in name:
            errors.append([status, html_prose(answer["description"])])
        elif name:
            data = resolve_references(schema, shape)["properties"]["data"]
            heading = f"Answer {status}: data"
            parts += [html_table(heading, field_rows(model)) for _, model in models_in(schema, data)]
    return "".join(parts) + html_table("Errors", errors)


def field_rows(model: Schema) -> Iterator[list[str]]:
    required = model.get("required", [])
    for name, field in model.get("properties", {}).items():
        examples = field.get("examples")
        shown = html_code(json.dumps(examples[0])) if examples else ""
        presence = "always" if name in required else ""
        yield [html_code(name), type_of(field), presence, escape(field.get("description", "")), shown]


def models_in(schema: Schema, shape: Schema) -> Iterator[tuple[str, Schema]]:
    """The models a schema stands for: itself, or each branch of a union."""
    if "$ref" in shape:
        yield shape["$ref"].rpartition("/")[2], resolve_references(schema, shape)
    for branch in (*shape.get("anyOf", ()), *shape.get("oneOf", ())):
        yield from models_in(schema, branch)


def resolve_references(schema: Schema, shape: Schema) -> Schema:
    model: Schema = schema["components"]["schemas"][shape["$ref"].rpartition("/")[2]]
    return model


def type_of(shape: Schema) -> str:
    branches = shape.get("anyOf") or shape.get("oneOf")
    if branches:
        return " or ".join(type_of(branch) for branch in branches if branch.get("type") != "null")
    if "$ref" in shape:
        return escape(shape["$ref"].rpartition("/")[2])
    if "enum" in shape:
        return " | ".join(html_code(json.dumps(value)) for value in shape["enum"])
    if shape.get("type") == "array":
        return f"list of {type_of(shape.get('items', {}))}"
    limits = [f"{name} {shape[name]}" for name in ("minimum", "maximum", "maxLength") if name in shape]
    default = [f"default {json.dumps(shape['default'])}"] if shape.get("default") is not None else []
    notes = ", ".join(limits + default)
    return escape(shape.get("type", "any")) + (f" <small>({escape(notes)})</small>" if notes else "")


def html_table(title: str, rows: Iterator[list[str]] | list[list[str]]) -> str:
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<h4>{escape(title)}</h4><table>{body}</table>" if body else ""


def html_prose(text: str) -> str:
    """Paragraphs, `code` and fenced blocks of Markdown: what our descriptions use."""
    parts: list[str] = []
    for index, block in enumerate(text.split("```")):
        if index % 2:
            parts.append(f"<pre><code>{escape(block.partition(chr(10))[2])}</code></pre>")
        else:
            for paragraph in filter(str.strip, block.split("\n\n")):
                words = enumerate(paragraph.split("`"))
                parts += ["<p>", *(html_code(part) if odd % 2 else escape(part) for odd, part in words), "</p>"]
    return "".join(parts)


def html_code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def anchor_name(name: str) -> str:
    return escape(name.lower().replace(" ", "-"))
