"""`import fxtrace.catalog` gives what `fxtrace.catalog` is: what makes a catalog, with its rows()."""

import sys

from ._catalog import catalog

rows = catalog.rows

sys.modules[__name__] = catalog  # type: ignore[assignment]
