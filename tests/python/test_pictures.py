"""Tests pictures: Graphviz draws the DOT of everything, svg and png work, a missing Graphviz is an error, and models of every
size have a picture of one page within seconds."""

import json
import os
import re
import subprocess
import time
import xml.etree.ElementTree

import harness
import pytest
import tiers

MODEL = os.path.join(harness.SAMPLES, "nested_scripted.pt")
MOST_BOXES = 41  # of a picture, lib/pictures/picture.h


def boxes(dot: bytes) -> list[str]:
    """Nodes and closed boxes, by their tool tips."""
    return re.findall(r'^ *b\d+ \[shape=.*tooltip="(.*)"\];$', dot.decode(), re.MULTILINE)


def run(program, *args, env=None, timeout=60):
    return subprocess.run([program.path, *args], capture_output=True, timeout=timeout, env=env)


ARCHIVES = sorted(name for name in os.listdir(harness.SAMPLES) if name.endswith((".pt", ".pt2")))


@pytest.mark.parametrize("options", [[], ["--no-fold", "--depth", "99"], ["--show-plumbing", "--show-parameters", "--order"]])
@pytest.mark.parametrize("sample", tiers.one_in(8, ARCHIVES))
def test_graphviz_draws_every_sample(program, sample, options):
    done = run(program, "render", os.path.join(harness.SAMPLES, sample), "-f", "dot", *options)
    if done.returncode == 2 and b"--model" in done.stderr:  # an archive of several programs
        return
    assert done.returncode == 0, (sample, done.stderr)
    harness.check_dot(done.stdout)
    assert len(boxes(done.stdout)) <= MOST_BOXES or options


def test_svg_and_png(program, tmp_path):
    for command in ("trace", "render"):
        svg, png = tmp_path / f"{command}.svg", tmp_path / f"{command}.png"
        assert run(program, command, MODEL, "-o", svg).returncode == 0
        assert run(program, command, MODEL, "-o", png).returncode == 0
        assert b"<svg" in svg.read_bytes() and b"nets.nested.Net" in svg.read_bytes()
        assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        # Edges are behind the titles of boxes.
        drawn = svg.read_text()
        assert drawn.rindex('class="edge"') < drawn.index("paint-order") and ">stage</text>" in drawn[drawn.index("paint-order") :]
        xml.etree.ElementTree.fromstring(drawn)
        # The same bytes again, through stdout, and without isolation.
        assert run(program, command, MODEL, "-f", "svg").stdout == svg.read_bytes()
        assert run(program, command, MODEL, "-f", "svg", "--no-isolation").stdout == svg.read_bytes()


def test_a_collection_and_its_model_give_one_picture(program, tmp_path):
    collection = tmp_path / "nested.json"
    assert run(program, "trace", MODEL, "-o", collection).returncode == 0
    assert run(program, "render", collection, "-f", "dot").stdout == run(program, "render", MODEL, "-f", "dot").stdout


def fake_dot(folder, text: str) -> dict[str, str]:
    """An environment in which `dot` is this script."""
    folder.mkdir(exist_ok=True)
    script = folder / "dot"
    script.write_text(text)
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def check_refused(program, tmp_path, env, *texts, options=()):
    """One line, and the file is as it was."""
    file = tmp_path / "x.svg"
    file.write_text("earlier")
    done = run(program, "trace", MODEL, "-o", file, *options, env=env)
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 3 and lines[0].startswith("fxtrace: error: "), done.stderr
    assert all(line.startswith("hint: ") for line in lines[1:])
    for text in texts:
        assert text in done.stderr.decode()
    assert file.read_text() == "earlier"
    assert sorted(os.listdir(tmp_path)) in (["x.svg"], ["bin", "x.svg"])


def test_without_graphviz(program, tmp_path):
    env = {**os.environ, "PATH": str(tmp_path)}
    check_refused(program, tmp_path, env, "`dot` is not installed", "apt-get install graphviz", "-f html")
    # Nothing in a folder that depends on where one stands.
    fake_dot(tmp_path / "bin", "#!/bin/sh\necho surprise\n")
    done = subprocess.run(
        [program.path, "trace", MODEL, "-f", "svg"], capture_output=True, cwd=tmp_path, env={**os.environ, "PATH": "bin:."}
    )
    assert done.returncode == 3 and not done.stdout
    # It is said before anything is read.
    done = run(program, "trace", "no/such/model.pt", "-f", "svg", env=env)
    assert b"no/such/model.pt" in done.stderr or b"`dot` is not installed" in done.stderr


def test_graphviz_fails(program, tmp_path):
    folder = tmp_path / "bin"
    env = fake_dot(folder, "#!/bin/sh\nprintf 'Error: it is \\033[31mbroken\\nmore\\n' >&2\nexit 1\n")
    check_refused(program, tmp_path, env, "Graphviz could not draw it: Error: it is \\x1b[31mbroken")
    env = fake_dot(folder, "#!/bin/sh\nkill -SEGV $$\n")
    check_refused(program, tmp_path, env, "Graphviz crashed (SIGSEGV)", options=("--no-isolation",))
    env = fake_dot(folder, "#!/bin/sh\nwhile :; do :; done\n")
    check_refused(program, tmp_path, env, "more than 1 s", "--depth", options=("--max-time", "1"))


def test_graphviz_can_only_read(program, tmp_path):
    """Whatever a name in a model could make of it."""
    target = tmp_path / "written"
    script = f"#!/bin/sh\ncat >/dev/null\necho x > {target}\nmkdir {tmp_path}/made\ncat /etc/hostname >/dev/null && echo '<svg/>'\n"
    env = fake_dot(tmp_path / "bin", script)
    run(program, "trace", MODEL, "-f", "svg", env=env)
    assert not target.exists() and not (tmp_path / "made").exists()
    # A shell cannot even run another program there; without isolation the script does what it says.
    done = run(program, "trace", MODEL, "-f", "svg", "--no-isolation", env=env)
    assert done.returncode == 0 and target.exists() and (tmp_path / "made").exists()


def collection_of(program, tmp_path, nodes: int, per_module: int) -> str:
    """A saved collection of a chain of operations, in modules of some each where that is not 0."""
    base = json.loads(run(program, "trace", MODEL).stdout)
    graph = base["graphs"][0]
    template = {
        "op": "call_function",
        "target": "aten.relu.default",
        "kwargs": {},
        "meta": {"type": "Tensor", "shape": None, "dtype": None},
        "source": None,
    }
    made = [dict(graph["nodes"][0], name="x", target="x", users=["relu"])]
    modules = {"": "Net"}
    for i in range(nodes):
        name = "relu" if i == 0 else f"relu_{i}"
        user = f"relu_{i + 1}" if i + 1 < nodes else "output"
        path = f"layers.{i // per_module}" if per_module else ""
        # Blocks differ, so that they are no repetitions of one another.
        extra = i * 7919 % 101
        scope = {"module_path": path, "module_type": "Block" if path else None, "call": 1}
        source = made[-1]["name"]
        made.append(dict(template, name=name, args=[{"node": source}, extra], users=[user], scope=scope))
        if path:
            modules.setdefault(path, "Block")
    last = graph["nodes"][-1]
    made.append(dict(last, args=[{"node": made[-1]["name"]}]))
    for node in made:
        node.setdefault("scope", {"module_path": "", "module_type": None, "call": 1})
    order = ["name", "op", "target", "args", "kwargs", "users", "scope", "meta", "source"]
    graph["nodes"] = [{key: node[key] for key in order} for node in made]
    graph.update(constants={}, subgraphs={}, guards=[])
    graph["execution"] = {"module_forward_order": list(modules), "param_forward_order": [], "module_param_usage": []}
    graph.pop("cost", None)
    kept = {key: base["modules"][0][key] for key in base["modules"][0]}
    base["modules"] = [dict(kept, path=path, type=kind, status="traced", calls=1) for path, kind in modules.items()]
    base["parameters"] = []
    base["summary"].update(nodes=len(made), parameters=0, unused_parameters=[])
    base["summary"]["modules"] = {"traced": len(modules), "leaf": 0, "failed": 0, "unvisited": 0}
    base["summary"].pop("cost", None)
    path = tmp_path / f"{nodes}_{per_module}.json"
    path.write_text(json.dumps(base))
    return str(path)


@pytest.mark.parametrize("nodes, per_module", tiers.pairs_where(lambda nodes, _: nodes < 100_000, [(100, 0), (10_000, 0), (10_000, 20), (100_000, 0), (100_000, 10)]))
def test_every_size_gives_one_page_in_seconds(program, tmp_path, nodes, per_module):
    file = collection_of(program, tmp_path, nodes, per_module)
    start = time.monotonic()
    done = run(program, "render", file, "-f", "dot")
    assert done.returncode == 0, done.stderr
    assert len(boxes(done.stdout)) <= MOST_BOXES
    harness.check_dot(done.stdout)
    seconds = time.monotonic() - start
    assert seconds < 30  # 2 s alone on a slow machine, in a debug build
    if nodes > 100:
        assert b"--depth N and --focus PATH open more" in done.stdout


def test_a_picture_of_everything_warns_and_ends(program, tmp_path):
    file = collection_of(program, tmp_path, 20_000, 20)
    for suffix in ("svg", "png"):
        start = time.monotonic()
        done = run(program, "render", file, "--no-fold", "--depth", "9", "-o", tmp_path / f"x.{suffix}")
        assert done.returncode == 0 and time.monotonic() - start < 100, done.stderr
        assert re.search(rb"warning: Graphviz takes up to a minute for [1-4],\d{3} boxes, and draws at most 4,000", done.stderr)
        assert (tmp_path / f"x.{suffix}").stat().st_size > 100_000
        assert (b"the PNG is scaled down" in done.stderr) == (suffix == "png")
    assert re.search(r"Of 20,002 boxes [1-4],\d{3} are drawn", (tmp_path / "x.svg").read_text())
    # DOT is what somebody else draws.
    done = run(program, "render", file, "--no-fold", "--depth", "9", "-f", "dot")
    assert done.returncode == 0 and done.stdout.count(b"[shape=") == 20_002
    # Without --depth it is a page, whatever is folded.
    done = run(program, "render", file, "--no-fold", "-o", tmp_path / "x.svg")
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_names_are_text(program, tmp_path):
    """No name of a model is markup, an attribute or another statement of DOT."""
    evil = ['</B>><TABLE', '"];evil[label="x', "\\N\\G", "a\nb", "&lt;b&gt;", "\u202eright", "--> x", "<!-- x"]
    base = json.loads(run(program, "trace", MODEL).stdout)
    for i, text in enumerate(evil):
        base["modules"][0]["type"] = base["model"]["type"] = text
        base["graphs"][0]["type"] = text
        file = tmp_path / f"{i}.json"
        file.write_text(json.dumps(base))
        done = run(program, "render", file, "-f", "dot")
        assert done.returncode == 0, done.stderr
        harness.check_dot(done.stdout)
        assert b"evil [" not in done.stdout
