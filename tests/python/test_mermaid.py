"""Tests Mermaid pictures: the library itself draws every sample in Chromium, with GitHub's limits."""

import copy
import glob
import html
import json
import os
import re
import shutil
import subprocess

import harness
import pytest

LIBRARY = os.environ.get("FXTRACE_MERMAID") or next(
    iter(glob.glob(os.path.join(harness.ROOT, "build/mermaid/node_modules/mermaid/dist/mermaid.min.js"))), ""
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.volume,
    pytest.mark.skipif(not LIBRARY, reason="no Mermaid: scripts/setup --all-tests installs it"),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium"),
]

# Draws one text after another, and leaves what came of each as JSON. Nothing may run, and nothing may be loaded.
PAGE = """<!doctype html><meta charset="utf-8"><body><pre id="result">nothing</pre><div id="place"></div>
<script src="file://{library}"></script><script>
const texts = {texts}, result = [], alarms = [];
window.alert = window.confirm = (text) => alarms.push(text);
mermaid.initialize({{startOnLoad: false}});
(async () => {{
  for (const text of texts) {{
    try {{
      const {{svg}} = await mermaid.render("drawn", text);
      const place = document.getElementById("place");
      place.innerHTML = svg;
      const count = (what) => place.querySelectorAll(what).length;
      result.push({{
        labels: [...place.querySelectorAll(".nodeLabel")].map((label) => label.innerText.trim()),
        title: place.querySelector(".flowchartTitleText")?.textContent ?? "",
        edges: count(".flowchart-link"), boxes: count("g.cluster"), nodes: count("g.node"),
        foreign: count("script, a, img, iframe, link, i:empty, math"),
      }});
    }} catch (error) {{ result.push({{error: String(error)}}); }}
  }}
  document.getElementById("place").remove();
  document.getElementById("result").textContent = JSON.stringify({{result, alarms}});
}})();
</script>"""


@pytest.fixture(scope="module")
def draw(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mermaid")

    def draw(texts: list[str]) -> list[dict]:
        page = folder / "page.html"
        listed = json.dumps(texts).replace("<", "\\u003c")
        page.write_text(PAGE.format(library=os.path.abspath(LIBRARY), texts=listed), encoding="utf-8")
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
        command += ["--virtual-time-budget=1000000", "--dump-dom", page.as_uri()]
        done = subprocess.run(command, capture_output=True, timeout=500)
        found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout.decode(), re.DOTALL)
        assert found and found[1] != "nothing", done.stderr.decode()[-2000:]
        answer = json.loads(html.unescape(found[1]))
        assert answer["alarms"] == [] and len(answer["result"]) == len(texts)
        return answer["result"]

    return draw


def check(text: str, drawn: dict) -> None:
    """All that the text has is in the picture."""
    assert "error" not in drawn, drawn
    nodes = set(re.findall(r"^ *(b\d+|legend)[\[({]", text, re.MULTILINE))
    boxes = re.findall(r"^ *subgraph ", text, re.MULTILINE)
    edges = re.findall(r"^  \w+ (?:-->|-\.->) \w+$", text, re.MULTILINE)
    assert (drawn["nodes"], drawn["boxes"], drawn["edges"]) == (len(nodes), len(boxes), len(edges))
    assert drawn["foreign"] == 0 and drawn["title"]
    assert all(label for label in drawn["labels"])


def test_every_sample(program, draw):
    texts = {}
    for kind in ("torchscript", "exported_program"):
        for sample in harness.samples(kind):
            options = [f"--model={sample['model']}"] if sample.get("model") else []
            path = harness.sample_path(sample)
            for more in ([], ["--show-parameters", "--show-plumbing", "--order", "--no-fold"]):
                text = program.stdout("trace", path, "-f", "mermaid", *options, *more).decode()
                if "%% This is more than GitHub draws" not in text:
                    texts[sample["file"], sample.get("model"), *more] = text
    assert len(texts) > 100
    for (name, text), drawn in zip(texts.items(), draw(list(texts.values())), strict=True):
        assert name and len(text) < 50_000
        check(text, drawn)


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"quote\" 'q'",
    "`code` ```fence",
    "**bold** _it_ __dunder__ ~~s~~",
    "[link](javascript:alert(1))",
    "1. item",
    "- item",
    "# head",
    "> q",
    "end",
    "end;",
    "subgraph x",
    'click b1 "javascript:alert(1)"',
    '%%{init: {"theme":"forest"}}%%',
    "%% comment",
    "$$x^2$$",
    "fa:fa-home fab:fa-x",
    "\\n \\u0041 \\\\",
    "&lt;&#60; &amp; #lt; #35; #quot;",
    "\ufb02\u00b0\u00b060\u00b6\u00df Straße",
    "style a:#fff;",
    "classDef x:y#z;",
    "www.example.com a@b.c http://x.y",
    "{{x}} [[y]] ((z)) |p| {a}",
    "--> -.-> ~~~ ==>",
    ']  ["',
    ":::cls",
    "@{ shape: circle }",
    "---",
    "accTitle: x",
    "日本語 \U0001f600",
    "2*batch*3",
    "<!-- c -->",
    "<b>x</b><br/>y",
]
# What nobody can see is escaped.
ESCAPED = {"a\nb\tc\rd": "a\\nb\\tc\\rd", "a\u202eb\u200bc\u0000\x1b": "a\\u202eb\\u200bc\\x00\\x1b"}


def with_methods(program, names: list[str]) -> dict:
    """A collection whose first graph calls one method after another."""
    document = program.trace(harness.sample_path(harness.samples()[0]))
    graph = document["graphs"][0]
    first, output = graph["nodes"][0], graph["nodes"][-1]
    nodes = [first]
    for i, name in enumerate(names):
        node = copy.deepcopy(output) | {"name": f"m{i}", "op": "call_method", "target": name, "meta": None}
        nodes.append(node | {"args": [{"node": nodes[-1]["name"]}], "users": [], "source": None})
        nodes[-2]["users"] = [f"m{i}"]
    output["args"], nodes[-1]["users"] = [{"node": nodes[-1]["name"]}], [output["name"]]
    graph["nodes"] = [*nodes, output]
    document["summary"]["nodes"] = sum(len(graph["nodes"]) for graph in document["graphs"])
    return document


def render(program, document: dict, path, *options: str) -> str:
    path.write_text(json.dumps(document))
    return program.stdout("render", str(path), "-f", "mermaid", *options).decode()


def test_hostile_names(program, draw, tmp_path):
    """They stand in the picture as they are, and do nothing."""
    document = with_methods(program, [*HOSTILE, *ESCAPED])
    document["model"] |= {"file": "".join(HOSTILE), "type": 'pkg.N"et\n---\n'}
    text = render(program, document, tmp_path / "hostile.json", "--no-fold", "--depth=99", "--max-label=1000")
    (drawn,) = draw([text])
    check(text, drawn)
    labels = {re.sub(r"\s", " ", label) for label in drawn["labels"]}
    assert not {*HOSTILE, *ESCAPED.values()} - labels
    assert drawn["title"].startswith('N"et\\n---\\n, ')  # tags in a title Mermaid leaves out by itself


def test_limits_of_github(program, draw, tmp_path):
    """What is said to be more than GitHub draws is, and what is not said so is not."""
    texts = []
    for count in (400, 600):
        document = with_methods(program, [f"method_{i}" for i in range(count)])
        texts.append(render(program, document, tmp_path / "long.json", "--no-fold", "--depth=99"))
    assert ["%% This is more than GitHub draws" in text for text in texts] == [False, True]
    fits, more = draw(texts)
    check(texts[0], fits)
    assert "Edge limit exceeded" in more["error"] or more["nodes"] == 0
