"""The module `fxtrace.catalog`, which replaces itself by the object of that name, so that `import fxtrace.catalog` works too."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ._catalog import catalog

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

    SCHEMAS: dict[str, pyarrow.Schema]  # that the program is asked for on first use

batches = catalog.batches
export = catalog.export
key = catalog.key
rows = catalog.rows
schema = catalog.schema

sys.modules[__name__] = catalog  # type: ignore[assignment]
