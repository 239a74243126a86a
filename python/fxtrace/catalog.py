"""The module `fxtrace.catalog`, which replaces itself by the object of that name, so that `import fxtrace.catalog` works too."""

import sys

from ._catalog import catalog

rows = catalog.rows

sys.modules[__name__] = catalog  # type: ignore[assignment]
