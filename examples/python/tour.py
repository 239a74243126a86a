"""A tour of the package: each function once, with options and with the types of what it gives.

    python tour.py PROGRAM.pt2 ARCHIVE.pt FOLDER

FOLDER is for what it writes. mypy --strict and pyright accept this file; tests run it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import fxtrace
import fxtrace.catalog


def look_around(program: Path, folder: Path) -> fxtrace.Collection:
    collection: fxtrace.Collection = fxtrace.trace(program, no_default_leaves=True, pass_=["functional", "fold-constants"], strict=True)
    for node in collection.root:
        shape: tuple[int | str, ...] | None = node.shape
        print(node.name, node.op, node.target, shape)
    collection.save(folder / "graph.json")
    assert fxtrace.load(folder / "graph.json").to_json() == collection.to_json()
    (folder / "graph.dot").write_text(collection.render("dot", depth=2, no_fold=True, max_label=40))
    return collection


def costs(collection: fxtrace.Collection) -> None:
    summary: fxtrace.Summary = fxtrace.summary(collection, columns=["flops", "quant"], depth=1, sort="macs", on="h100", memory=True)
    assert summary["device"]["name"] == "h100-sxm" and "peak_bytes" in summary["memory"]
    assert summary["totals"] == collection.summary(columns=["weights"])["totals"]
    order: fxtrace.Order = fxtrace.order(collection, buckets="1K")
    buckets: tuple[fxtrace.Bucket, ...] = order.buckets or ()
    print(len(order.modules), "modules,", len(buckets), "buckets of", sum(bucket.bytes for bucket in buckets), "bytes")


def rules(program: Path) -> None:
    report: fxtrace.CheckReport = fxtrace.check(program, max_params="25M", deny=["aten.item.*"], program=True, backend="core-aten")
    offences: list[fxtrace.Offence] = list(report)
    assert fxtrace.check(program, rules="quantization")
    materials: dict[str, Any] = fxtrace.bom(program, program, format="spdx")
    print("holds" if report else "does not hold", len(offences), materials["spdxVersion"])


def failures(archive: Path) -> None:
    why: fxtrace.Explanation = fxtrace.why(archive, control_flow="fail", input="float32[2,4]")
    groups: tuple[fxtrace.FailureGroup, ...] = why.failures
    found: fxtrace.Comparison = fxtrace.diff(archive, archive, only=["modules", "nodes"], input={"x": "float32[batch,4]"}, dim={"batch": (1, None)})
    counts: dict[str, int] = {kind: sum(changes.values()) for kind, changes in found.counts.items()}
    print(len(groups), "groups of failures;", found.equal, counts)


def parts(program: Path, folder: Path) -> None:
    part: fxtrace.Collection = fxtrace.extract(program, "stage.first", call=1)
    first: fxtrace.Node = part.root[0]
    partition: fxtrace.Partition = fxtrace.partition(program, ["core-aten"], min_nodes=1, require="covered>=1%", extract=folder / "pieces")
    plan: fxtrace.Plan | None = partition.plan
    sets: list[str | None] = [each.set for each in partition]
    print(first.name, sets, plan is not None and [piece.name for piece in plan.pieces])


def run(program: Path, archive: Path, folder: Path) -> None:
    import torch

    converted: str = fxtrace.convert(archive, folder / "archive.pt2", input=[torch.rand(2, 4)], dialect="aten", hint={})
    loaded: torch.export.ExportedProgram = fxtrace.convert(program, from_="linear", to="linear_1")
    done: fxtrace.Verification = fxtrace.verify(converted, runs=2, seed=1, atol=1e-6, against=archive)
    graph: torch.fx.GraphModule = fxtrace.trace(program).graph_module()
    print(done.verdict, len(list(loaded.graph.nodes)), len(list(graph.graph.nodes)))


def many(program: Path, archive: Path, folder: Path) -> None:
    database = fxtrace.catalog([program, archive], folder / "models.sqlite", jobs=1, max_depth=1)
    rows: list[tuple[str, int]] = database.execute("SELECT path, nodes FROM models").fetchall()
    database.close()
    keys: set[str] = {fxtrace.catalog.key(path, max_depth=1) for path, _ in rows}
    sizes = [batch.num_rows for batch in fxtrace.catalog.batches([program, archive], "nodes", done=keys, max_depth=1)]
    tables = fxtrace.catalog.rows(program, name="program", leaf="**")
    print(sizes, sorted(tables), fxtrace.catalog.schema("nodes").names[:2])
    fxtrace.catalog.export(folder / "models.sqlite", folder / "parquet")


def errors(folder: Path) -> None:
    try:
        with fxtrace.fetch("memory://nothing/model.pt2", folder / "model.pt2", whole=True) as skeleton:
            print(skeleton.bytes_read)
    except fxtrace.InputError as error:
        print(error, *error.hints)
    print(json.dumps(fxtrace.find_program()))


def main() -> None:
    program, archive, folder = map(Path, sys.argv[1:])
    costs(look_around(program, folder))
    rules(program)
    failures(archive)
    parts(program, folder)
    run(program, archive, folder)
    many(program, archive, folder)
    errors(folder)


if __name__ == "__main__":
    main()
