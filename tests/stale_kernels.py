"""Removes compiled kernels that are out of date: numba does not notice a change of a function inlined from elsewhere.

A module's kernels are up to date as long as the code of the module, and of all modules with kernels that it imports, is
the same; docstrings and comments do not count. What the code was when the kernels were compiled is kept beside them.
"""

import ast
import hashlib
import json
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent.parent / "src" / "centime"
STAMPS = SOURCES / "__pycache__" / "kernels.json"


def forget_stale_kernels() -> None:
    """Removes the compiled kernels of every module whose code, or code that it inlines, has changed."""
    try:
        before: dict[str, Any] = json.loads(STAMPS.read_text())
    except (OSError, ValueError):
        before = {}
    modules = {_name(path): _described(path, before.get(_name(path), {})) for path in sorted(SOURCES.rglob("*.py"))}
    for name, about in modules.items():
        about["closure"] = _closure(name, modules)
        if before.get(name, {}).get("closure") != about["closure"]:
            _remove(SOURCES.parent / Path(*name.split(".")))
    STAMPS.parent.mkdir(exist_ok=True)
    fresh = STAMPS.with_name(f".{STAMPS.name}.{hashlib.sha256(str(id(modules)).encode()).hexdigest()[:8]}")
    fresh.write_text(json.dumps(modules))
    fresh.replace(STAMPS)


def _name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCES.parent).with_suffix("").parts)


def _described(path: Path, before: dict[str, Any]) -> dict[str, Any]:
    """Stamp, digest of the code and imports of a module; those of the last time if the file is the same."""
    found = path.stat()
    stamp = [found.st_mtime_ns, found.st_size]
    if before.get("stamp") == stamp:
        return before
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body[0].value.value = ""
    imports = sorted(
        {
            target
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("centime")
            for target in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        }
    )
    return {"stamp": stamp, "code": hashlib.sha256(ast.dump(tree).encode()).hexdigest(), "imports": imports}


def _closure(name: str, modules: dict[str, dict[str, Any]]) -> str:
    """A digest of the code of a module and of all that it imports."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in modules and one not in seen:
            seen.add(one)
            waiting += modules[one]["imports"]
    return hashlib.sha256("".join(modules[one]["code"] for one in sorted(seen)).encode()).hexdigest()


def _remove(module: Path) -> None:
    for compiled in (module.parent / "__pycache__").glob(f"{module.name}.*.nb[ic]"):
        compiled.unlink(missing_ok=True)
