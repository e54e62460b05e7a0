"""PyArrow, loaded when a table is requested: it is an extra, because it is larger than all other dependencies."""

from importlib import import_module
from typing import Any

from centime.model.errors import BadInput


def arrow(module: str = "pyarrow") -> Any:
    """PyArrow or one of its modules; BadInput says how to install it."""
    try:
        return import_module(module)
    except ImportError as trouble:
        raise BadInput("Parquet files and Arrow tables need PyArrow: pip install 'centime[arrow]'") from trouble
