"""Makes damaged and hostile collections for `fxtrace render`, by name."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import golden
from hostile import Case

SMALL, WITH_SUBGRAPHS = "json_vision_scripted", "json_exported_cond"

Json = Any


def load(name: str) -> Json:
    """What a golden records."""
    return json.loads(golden.Case.read(name).stdout)


PASSES = ("--pass", "functional")


def render(name: str, make: Callable[[], bytes], expect: str = "error", says: tuple[str, ...] = (), options: tuple[str, ...] = ()) -> Case:
    return Case(name, make, expect, options, says, "render")


def edited(change: Callable[[Json], None], name: str = SMALL) -> Callable[[], bytes]:
    def make() -> bytes:
        document = load(name)
        change(document)
        return json.dumps(document).encode()

    return make


def nodes(document: Json) -> list[Json]:
    return document["graphs"][0]["nodes"]


def last_call(document: Json) -> Json:
    return next(node for node in reversed(nodes(document)) if node["op"] != "output")


def nested(document: Json, depth: int) -> None:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    last_call(document)["args"] = [value]


def deep_subgraphs(document: Json, depth: int) -> None:
    graph = document["graphs"][0]
    inner = next(iter(graph["subgraphs"].values()))
    for _ in range(depth):
        inner = {**inner, "subgraphs": {"true_graph_0": inner}}
    graph["subgraphs"] = {"true_graph_0": inner}


def part_of_split(document: Json, index: int) -> None:
    """Writes into an item of a list of views that no tensor has."""
    first, last = nodes(document)[0], nodes(document)[-1]
    target = last_call(document)["name"]
    added = []
    for name, function, args in (
        ("clone_99", "aten.clone.default", [{"node": target}]),
        ("split_99", "aten.split.Tensor", [{"node": "clone_99"}, index]),
        ("getitem_99", "operator.getitem", [{"node": "split_99"}, index]),
        ("add__99", "aten.add_.Scalar", [{"node": "getitem_99"}, 1]),
    ):
        added.append({**first, "name": name, "op": "call_function", "target": function, "args": args, "users": [], "meta": None})
        for before in (*nodes(document), *added):
            if before["name"] == args[0]["node"]:
                before["users"] = [*before["users"], name]
    nodes(document)[-1:] = [*added, last]
    users = next(node for node in nodes(document) if node["name"] == target)["users"]
    users.sort(key=lambda name: [node["name"] for node in nodes(document)].index(name))
    document["summary"]["nodes"] += len(added)


def bidirectional(document: Json) -> None:
    nodes(document)[0]["name"] = nodes(document)[0]["target"] = "x\u202e\x1b[31m\x00"


def cases() -> Iterator[Case]:
    yield render("empty", lambda: b"")
    yield render("nothing", lambda: b"null", says=("1:1",))
    yield render("another document", lambda: b'{"a": 1}')
    yield render("open lists", lambda: b"[" * 1_000_000)
    yield render("open objects", lambda: b'{"graphs":' * 200_000)
    yield render("zeros", lambda: bytes(1 << 20))
    yield render("half", lambda: golden.Case.read(SMALL).stdout[:-100])
    yield render("no UTF-8", lambda: golden.Case.read(SMALL).stdout.replace(b'"stem', b'"\xff\xfe'))
    yield render("a huge number", lambda: golden.Case.read(SMALL).stdout.replace(b'"line": 1', b'"line": 1' + b"0" * 100_000), "any")
    yield render("a long string", edited(lambda d: d["model"].update(type="x" * (8 << 20))), "traced")
    yield render("control characters", edited(bidirectional))
    yield render("deep arguments", edited(lambda d: nested(d, 900)), "any")
    yield render("deep subgraphs", edited(lambda d: deep_subgraphs(d, 300), WITH_SUBGRAPHS), "any")
    yield render("deep subgraphs, passes", edited(lambda d: deep_subgraphs(d, 300), WITH_SUBGRAPHS), "any", options=PASSES)
    yield render("a split of many", edited(lambda d: part_of_split(d, 1 << 62)), "traced", options=PASSES)
    yield render("no graphs", edited(lambda d: d.update(graphs=[])))
    yield render("a node twice", edited(lambda d: nodes(d).append(nodes(d)[-1])))
    yield render("a node that uses itself", edited(lambda d: last_call(d)["args"].append({"node": last_call(d)["name"]})))
    yield render("a node that is not there", edited(lambda d: last_call(d)["args"].append({"node": "nobody"})))
    yield render("users of nobody", edited(lambda d: last_call(d).update(users=["nobody"])))
    yield render("a subgraph that is not there", edited(lambda d: d["graphs"][0].update(subgraphs={}), WITH_SUBGRAPHS))
    yield render("sizes below zero", edited(lambda d: nodes(d)[0].update(meta={"type": "Tensor", "shape": [-1]})), "any")
    yield render("a size that is a program", edited(lambda d: nodes(d)[0].update(meta={"type": "Tensor", "shape": ["(" * 5000]})))
    yield render("a version to come", edited(lambda d: d.update(version=999)), "any")


def mutated(count: int = 190, seed: int = 11) -> Iterator[Case]:
    """Goldens with one value replaced, deleted or doubled."""
    generator = random.Random(seed)
    names = golden.names("json_")
    junk = (None, True, -1, 1 << 63, 1e308, "", "x", [], {}, [[]], {"node": "x"}, {"graph": "x"}, "\udcff")
    for number in range(count):
        name = generator.choice(names)
        document = load(name)
        place, keys = document, ()
        while isinstance(place, dict | list) and place and (not keys or generator.random() < 0.9):
            key = generator.choice(list(place) if isinstance(place, dict) else range(len(place)))
            parent, place, keys = place, place[key], (*keys, key)
        if generator.random() < 0.2:
            del parent[key]
        elif isinstance(parent, list) and generator.random() < 0.3:
            parent.append(place)
        else:
            parent[key] = generator.choice(junk)
        data = json.dumps(document).encode()
        where = name + ":" + ".".join(map(str, keys))
        yield render(f"{number} {where}", lambda data=data: data, "any", options=PASSES if number % 2 else ())


def flipped(count: int = 50, seed: int = 12) -> Iterator[Case]:
    generator = random.Random(seed)
    original = golden.Case.read(WITH_SUBGRAPHS).stdout
    for number in range(count):
        data = bytearray(original)
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        yield render(f"bit {number}", lambda data=bytes(data): data, "any")
