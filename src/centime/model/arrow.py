"""PyArrow, loaded when a table is asked for: it is an extra, because it weighs more than all the rest."""

from importlib import import_module
from typing import Any

from centime.model.errors import BadInput


def arrow(module: str = "pyarrow") -> Any:
    """PyArrow or one of its modules; BadInput says how to install it."""
    try:
        return import_module(module)
    except ImportError as trouble:
        raise BadInput("Parquet files and Arrow tables need PyArrow: pip install 'centime[arrow]'") from trouble
