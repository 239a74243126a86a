"""TorchScript archives, exported programs and saved collections as graphs of Model Explorer."""

from __future__ import annotations

import json
import os
from typing import Any

import model_explorer  # type: ignore[import-untyped,import-not-found,unused-ignore]
from model_explorer import graph_builder

from fxtrace._program import run


class FxtraceAdapter(model_explorer.Adapter):  # type: ignore[misc]
    """What `fxtrace trace -f model-explorer` makes of a model, and `fxtrace render` of a saved collection."""

    metadata = model_explorer.AdapterMetadata(
        id="fxtrace",
        name="fxtrace",
        description="TorchScript archives, exported programs, and collections that fxtrace wrote",
        source_repo="",
        fileExts=["pt", "pt2", "pth", "ts", "ptl", "json"],
    )

    def convert(self, model_path: str, settings: dict[str, Any]) -> model_explorer.ModelExplorerGraphs:
        command = "render" if model_path.endswith(".json") else "trace"
        # That a module failed stands in the graphs, so what the program says of it is not repeated.
        output = run(command, "--format=model-explorer", os.path.abspath(model_path))
        return {"graphs": [graph_builder.Graph(**graph) for graph in json.loads(output.stdout)["graphs"]]}
