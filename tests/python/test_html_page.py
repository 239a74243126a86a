"""Tests the HTML picture in headless Chromium: the resources that it loads, its display and controls, and its speed."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import xml.etree.ElementTree
from collections.abc import Iterator

import harness
import large_collections
import pytest
import tiers

playwright = pytest.importorskip("playwright.sync_api")

CHROMIUM = next(
    (found for name in ("chromium", "google-chrome", "chrome") if (found := shutil.which(name)) and "/snap/" not in found), None
)
if CHROMIUM is None:
    pytest.skip("no Chromium: scripts/setup --tests installs it on Debian", allow_module_level=True)
FLAGS = [
    *("--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-dev-shm-usage",  # containers have little of it
]
NESTED = os.path.join(harness.SAMPLES, "nested_exported.pt2")
# Seconds, on a machine that does other things at the same time.
FIRST_PICTURE, EXPAND, FIND = 20, 15, 5


@pytest.fixture(scope="module")
def library() -> Iterator:
    with playwright.sync_playwright() as library:
        yield library


@pytest.fixture(scope="module")
def browser(library) -> Iterator:
    browser = library.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    yield browser
    browser.close()


class Page:
    """A page and all that it asked for and complained about."""

    def __init__(self, browser, path: pathlib.Path, fragment: str = "", **options) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("dialog: " + dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = path.as_uri()
        self.page.goto(self.url + fragment)
        self.wait_until_drawn()

    def wait_until_drawn(self) -> None:
        self.page.wait_for_selector("html[data-ready]", timeout=FIRST_PICTURE * 1000)

    def close(self) -> None:
        self.context.close()
        assert not self.complaints
        assert [url for url in self.requests if url.split("#")[0] != self.url and not url.startswith("blob:")] == []

    def item(self, title: str):
        return self.page.locator(f'#graph .item:not(.headline):has(> title:text-matches("^{re.escape(title)}$", "m"))').first

    def titles(self) -> list[str]:
        return self.page.eval_on_selector_all(
            "#graph .item:not(.open):not(.headline) text.title",
            "all => all.map(text => [...text.childNodes].find(node => node.nodeType === 3).data)",
        )

    def wait_for(self, condition: str, seconds: float = EXPAND) -> None:
        # Not by the page itself, whose policy forbids eval().
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, condition
            self.page.wait_for_timeout(20)

    def details(self) -> str:
        return self.page.inner_text("#details")

    def find(self, text: str) -> str:
        self.page.keyboard.press("/")
        self.page.fill("#search", text)
        return self.page.inner_text("#results .total")


def page_of(program, tmp_path, model: str, *options: str) -> pathlib.Path:
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / "page.html"
    done = program.run("trace", model, "-o", str(path), *options)
    assert done.returncode == 0, done.stderr
    return path


def rendered(program, tmp_path, collection: dict) -> pathlib.Path:
    source, path = tmp_path / "collection.json", tmp_path / "page.html"
    large_collections.write(collection, str(source))
    done = program.run("render", str(source), "-o", str(path))
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def nested(program, browser, tmp_path):
    page = Page(browser, page_of(program, tmp_path, NESTED))
    yield page
    page.close()


def test_shows_the_model(nested):
    assert nested.page.title() == "nested_exported.pt2"
    assert "16 nodes" not in nested.page.inner_text("#model")  # parameters are no boxes
    assert "368 MACs" in nested.page.inner_text("#model")
    assert nested.titles()[0] == "x"
    assert {"stem", "linear", "act", "mul", "output"} <= set(nested.titles())
    assert nested.page.locator("#tree [role=treeitem]").count() >= 5
    assert nested.page.locator("#graph .edges path").count() == 11


def test_opens_and_closes_boxes(nested):
    # The sign in the box, then a double click.
    before = nested.titles()
    nested.page.locator('#graph .headline:has(> title:text-matches("^first$", "m")) .switch').click()
    nested.wait_for("document.querySelectorAll('#graph .item.box:not(.open):not(.headline)').length === 2")
    assert "linear" in before and nested.titles().count("linear") == before.count("linear") - 1
    closed = "document.querySelectorAll('#graph .item.box:not(.open):not(.headline)').length"
    nested.item("first").dblclick(position={"x": 8, "y": 8})
    nested.wait_for(f"{closed} === 1")
    nested.page.wait_for_timeout(300)
    assert nested.titles() == before  # the second click of the two closes nothing
    nested.page.locator('#graph .headline:has(> title:text-matches("^first$", "m")) .switch').click()
    nested.wait_for(f"{closed} === 2")
    nested.item("first").click(position={"x": 8, "y": 8})
    nested.wait_for(f"{closed} === 1")
    assert nested.titles() == before
    nested.page.click("#close-all")
    nested.wait_for("document.querySelectorAll('#graph .item.open').length === 0")
    assert set(nested.titles()) == {"x", "stem", "stage", "add", "head", "output"}
    nested.page.click("#open-all")
    nested.wait_for(f"{closed} === 0")
    assert set(nested.titles()) == set(before) - {"second"}
    assert nested.page.locator("#tree [aria-expanded=false]").count() == 0


def test_click_tells_everything_about_a_node(nested):
    nested.find("add_1")
    nested.page.keyboard.press("Enter")
    nested.page.wait_for_selector("#details h2:has-text('add')")
    details = nested.details()
    for part in ("aten.add.Tensor", "add_1", "nets/nested.py:", "in forward", "[2, 8]", "head_0", "shift"):
        assert part in details, part
    # Who makes its argument is a link that leads there.
    nested.page.click("#details .arguments .item-link")
    nested.page.wait_for_selector("#details h2:has-text('add')")
    assert "Used by" in nested.details()
    nested.item("stem").click()
    assert "64" in nested.details() and "MACs" in nested.details()
    assert "weight" in nested.details()
    assert nested.page.locator("#graph .edges path.near").count() == 3


def test_finds_by_name_type_operator_and_path(nested):
    for text, first in (
        ("add_1", "add_1"),
        ("LayerNorm", "head_0"),
        ("aten.mul", "mul"),
        ("stage.second.linear", "stage_second_linear"),
    ):
        assert "found" in nested.find(text), text
        assert nested.page.inner_text("#results .result:first-child .name") == first
    # Shapes, dtypes, parameters and sources, and what matches several of them.
    for text, first in (
        ("[2, 8] linear", "stage_first_linear"),
        ("2x8 linear", "stage_first_linear"),
        ("float32[2, 8] stem", "stem"),
        ("stem weight", "stem"),
        ("add shift [8]", "add_1"),
        ("stage.first act", "stage_first_act"),
    ):
        assert "found" in nested.find(text), text
        assert nested.page.inner_text("#results .result:first-child .name") == first, text
    source = nested.find("nested.py")
    place = re.search(r"nested\.py:(\d+)", nested.page.locator("#results").inner_text())
    assert place and "found" in source
    nested.find(place[0])
    shown = nested.page.locator("#results .where").all_inner_texts()
    assert shown and all(place[0] in text for text in shown)
    assert all(re.match(r"(in )?(stage|stem|head|\(root\))", text) for text in shown), shown
    assert nested.find("no such thing") == "Nothing found"
    nested.find("stage.second.act")
    nested.page.keyboard.press("Enter")
    nested.page.wait_for_selector("#details h2:has-text('act')")
    assert "stage.second" in nested.page.inner_text("#details .path").replace(" \u203a ", ".")
    nested.wait_for("document.querySelectorAll('#graph .item.selected').length > 0")


def test_address_names_what_is_selected(nested):
    nested.page.click("#close-all")
    nested.find("stage.first.linear")
    nested.page.keyboard.press("Enter")
    nested.page.wait_for_selector("#details h2:has-text('linear')")
    address = nested.page.evaluate("location.hash")
    assert address == "#node=root%3Astage_first_linear"
    nested.page.reload()
    nested.wait_until_drawn()
    assert "stage.first.linear" in nested.details()
    assert nested.page.locator("#graph .item.selected").count() == 1
    nested.item("add").click()
    assert nested.page.evaluate("location.hash") != address
    nested.page.go_back()
    nested.page.wait_for_selector("#details h2:has-text('linear')")
    nested.page.go_forward()
    nested.page.wait_for_selector("#details h2:has-text('add')")
    nested.page.evaluate("location.hash = '#node=nobody'")
    nested.page.wait_for_selector("#notice.shown")


def test_keys(nested):
    press = nested.page.keyboard.press
    selected = "document.querySelector('#details h2')?.textContent"
    nested.item("x").click()
    press("ArrowDown")
    nested.wait_for(f"{selected} === 'stem'")
    press("ArrowUp")
    nested.wait_for(f"{selected} === 'x'")
    press("Escape")
    nested.wait_for("document.querySelectorAll('#graph .selected').length === 0")
    nested.page.locator('#graph .item.open:has(> title:text-matches("^stage$", "m")) > .header').click(position={"x": 6, "y": 6})
    boxes = nested.page.locator("#graph .item").count()
    press("Enter")
    nested.wait_for(f"document.querySelectorAll('#graph .item').length < {boxes}")
    press("Enter")
    nested.wait_for(f"document.querySelectorAll('#graph .item').length === {boxes}")
    transform = nested.page.get_attribute("#paper", "transform")
    press("+")
    assert nested.page.get_attribute("#paper", "transform") != transform
    press("0")
    press("?")
    assert nested.page.locator("dialog[open]").count() == 1
    assert "Eclipse Public License" in nested.page.locator("dialog").text_content()
    press("Escape")
    assert nested.page.locator("dialog[open]").count() == 0
    # In the tree: down to a box, open it, into it.
    press("t")
    press("Home")
    for _ in range(3):
        press("ArrowDown")
    nested.wait_for(f"{selected} === 'stage'")
    press("ArrowLeft")  # it was opened above
    press("ArrowRight")
    press("ArrowRight")
    nested.wait_for(f"{selected} === 'first'")
    press("ArrowLeft")
    nested.wait_for(f"{selected} === 'stage'")
    assert nested.page.get_attribute("#tree", "aria-activedescendant") == nested.page.get_attribute(".row[aria-selected=true]", "id")


def test_draws_one_box_alone(nested):
    nested.find("stage.second.linear")
    nested.page.keyboard.press("Enter")
    nested.page.wait_for_selector("#details h2:has-text('linear')")
    nested.page.keyboard.press("u")
    nested.page.wait_for_selector("#details h2:has-text('second')")
    nested.page.keyboard.press("o")
    nested.wait_for("document.querySelectorAll('#graph .item.outside').length === 2")
    assert nested.page.inner_text("#crumbs").split("\u203a") == ["(root)", "stage", "second", "second"]
    assert "stem" not in nested.titles() and "linear" in nested.titles()
    nested.page.click("#crumbs button")
    nested.wait_for("document.querySelectorAll('#graph .item.outside').length === 0")
    assert "stem" in nested.titles()


@pytest.mark.volume
def test_closes_boxes_when_too_many_are_open(program, browser, tmp_path):
    page = Page(browser, rendered(program, tmp_path, large_collections.nested(3000)))
    for _ in range(40):
        closed = page.page.locator("#graph .item.box:not(.open):not(.headline)")
        address = page.page.evaluate("location.hash")
        closed.last.locator(".switch").dispatch_event("click")
        page.wait_for(f"location.hash !== {address!r} && !document.body.classList.contains('busy')")
        assert page.page.locator("#graph .item:not(.headline)").count() <= 130
        if "closed to keep the picture small" in page.page.text_content("#notice"):
            break
    assert "closed to keep the picture small" in page.page.text_content("#notice")
    page.close()


def test_dark_and_light(program, browser, tmp_path):
    path = page_of(program, tmp_path, NESTED)
    ground = "getComputedStyle(document.body).backgroundColor"
    colours = {}
    for scheme in ("light", "dark"):
        page = Page(browser, path, color_scheme=scheme)
        colours[scheme] = page.page.evaluate(ground)
        page.page.keyboard.press("d")
        colours["not " + scheme] = page.page.evaluate(ground)
        # Paper is white whatever the screen is.
        page.page.emulate_media(media="print")
        assert page.page.evaluate(ground) == "rgb(255, 255, 255)"
        assert not page.page.is_visible("#details") and page.page.is_visible("#graph")
        page.close()
    assert colours["light"] == colours["not dark"] != colours["dark"] == colours["not light"]


CONTRAST = (pathlib.Path(__file__).parent / "page_contrast.js").read_text()


@pytest.mark.volume
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(program, browser, tmp_path, scheme):
    """4.5:1 for all text, in all colourings; of a model, of one with failures, of what differs between two, and of parts."""
    pages = [page_of(program, tmp_path, NESTED)]
    pages.append(page_of(program, tmp_path / "failed", os.path.join(harness.SAMPLES, "control_flow_submodule.pt")))
    pages.append(tmp_path / "diff.html")
    program.stdout("diff", os.path.join(harness.SAMPLES, "vision_exported.pt2"), NESTED, "-o", str(pages[-1]))
    pages.append(tmp_path / "parts.html")
    program.stdout("partition", NESTED, "--ops", "xnnpack", "-o", str(pages[-1]))
    for path in pages:
        page = Page(browser, path, color_scheme=scheme)
        for colour in ("type", "cost", "failures"):
            page.page.select_option("#colour", colour)
            page.find("a")
            told = page.page.evaluate(CONTRAST)
            assert told["seen"] > 40
            assert told["found"] == [], (path.name, colour)
        page.page.keyboard.press("Escape")
        page.page.keyboard.press("Escape")
        page.page.locator("#graph .item:not(.box)").first.click()
        page.page.keyboard.press("?")
        assert page.page.evaluate(CONTRAST)["found"] == []
        # The measure sees what is too faint.
        page.page.evaluate("document.documentElement.style.setProperty('--quiet', '#888')")
        assert page.page.evaluate(CONTRAST)["found"]
        page.close()


def test_legend_and_panels_cover_nothing(nested):
    for width in (1280, 900, 600):
        nested.page.set_viewport_size({"width": width, "height": 800})
        nested.page.wait_for_timeout(100)
        place = {name: nested.page.locator(name).bounding_box() for name in ("#stage", "#legend")}
        stage = place["#stage"]
        assert place["#legend"]["y"] >= stage["y"] + stage["height"] - 1
        # All of the legend is there to be seen.
        assert nested.page.evaluate("(([box]) => box.scrollWidth <= box.clientWidth)(document.querySelectorAll('#legend'))")
        assert stage["width"] >= (width * 0.9 if width <= 600 else 400) and stage["height"] > 500
    assert not nested.page.is_visible("#side") and not nested.page.is_visible("#details")
    nested.page.click("#tree-button")
    assert nested.page.is_visible("#side")
    nested.page.locator("#tree .row", has_text="stem").click()
    nested.wait_for("document.querySelector('#details h2')?.textContent === 'stem'")
    assert nested.page.is_visible("#details") and not nested.page.is_visible("#side")
    assert nested.page.locator("#stage").bounding_box()["height"] > 350


def test_saves_pictures(nested, tmp_path):
    for kind in ("svg", "png"):
        with nested.page.expect_download() as download:
            nested.page.select_option("#save", kind)
        assert download.value.suggested_filename == "nested_exported.pt2." + kind
        download.value.save_as(tmp_path / kind)
    picture = (tmp_path / "svg").read_text()
    tree = xml.etree.ElementTree.fromstring(picture)
    texts = {"".join(text.itertext()) for text in tree.iter("{http://www.w3.org/2000/svg}text")}
    assert "stem" in " ".join(texts) and "var(" not in picture and "color(" not in picture and "class=" not in picture
    png = (tmp_path / "png").read_bytes()
    assert png.startswith(b"\x89PNG") and int.from_bytes(png[16:20], "big") > 400


def test_print_holds_the_whole_graph(nested):
    assert nested.page.pdf()[:5] == b"%PDF-"
    nested.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert nested.page.get_attribute("#graph", "viewBox").startswith("0 0 ")
    nested.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert nested.page.get_attribute("#graph", "viewBox") is None


def test_what_differs_between_two_models(program, browser, tmp_path):
    path = tmp_path / "diff.html"
    done = program.run("diff", os.path.join(harness.SAMPLES, "vision_exported.pt2"), NESTED, "-o", str(path))
    assert done.returncode == 0, done.stderr
    page = Page(browser, path)
    assert page.page.inner_text("header").startswith("vision_exported.pt2 \u2192 nested")
    signs = {"added": "+", "removed": "\u2212", "changed": "~"}
    assert all(f"{sign} {name}" in page.page.inner_text("#legend") for name, sign in signs.items())
    found = page.page.eval_on_selector_all(
        "#graph .item:not(.open):not(.headline)",
        "all => all.map(item => [[...item.classList].find(name => ['added', 'removed', 'changed'].includes(name)), item.querySelector('text').textContent])",
    )
    assert {name for name, _ in found} >= {"added", "removed"}
    assert all(text.startswith(signs[name] + " ") if name else text[:2] not in ("+ ", "~ ") for name, text in found)
    # Not by colour alone.
    for name, dashed in (("added", False), ("removed", True)):
        shape = page.page.locator(f"#graph .item.{name}:not(.open):not(.headline) > .paper").first
        assert (shape.evaluate("each => getComputedStyle(each).strokeDasharray") != "none") == dashed
    page.page.click("#close-all")
    page.wait_for("document.querySelectorAll('#graph .item.open').length === 0")
    box = page.page.locator("#graph .item.box.added").first
    before = len(page.titles())
    box.click(position={"x": 8, "y": 8})
    page.wait_for(f"document.querySelectorAll('#graph .item:not(.open):not(.headline)').length > {before}")
    page.close()


def test_what_does_not_differ_is_closed(program, browser, tmp_path):
    path = tmp_path / "diff.html"
    program.stdout("diff", NESTED, NESTED, "-o", str(path))
    page = Page(browser, path)
    assert page.page.locator("#graph .item.box").count() > 0
    assert page.page.locator("#graph .item.open").count() == 0
    page.close()


def test_what_a_backend_takes(program, browser, tmp_path):
    path = tmp_path / "parts.html"
    (tmp_path / "npu").write_text("aten.linear.*\naten.relu.*\naten.layer_norm.*\naten.mul.*\n")
    program.stdout("partition", NESTED, "--ops", str(tmp_path / "npu"), "-o", str(path))
    page = Page(browser, path)
    legend = page.page.inner_text("#legend")
    assert re.search(r"npu: \d+(\.\d)?% of calls", legend) and re.search("\u00d7 left: .*% of calls", legend)
    faded = "#graph .item.faded:not(.headline)"
    left = "#graph .item.left:not(.headline)"
    taken = "#graph .item.taken-1:not(.open):not(.headline)"
    count = page.page.locator(taken).count()
    assert count > 0 and page.page.locator(left).count() > 0 and page.page.locator(faded).count() == 0
    page.page.locator("#legend button", has_text="left").click()
    assert page.page.locator(f"{taken}.faded").count() == count and page.page.locator(f"{left}.faded").count() == 0
    # What is drawn later is filtered, too.
    page.page.click("#close-all")
    page.wait_for("document.querySelectorAll('#graph .item.open').length === 0")
    page.page.click("#open-all")
    page.wait_for("document.querySelectorAll('#graph .item.open').length > 0")
    assert page.page.locator(f"{taken}.faded").count() == page.page.locator(taken).count() > 0
    page.page.locator("#legend button[aria-pressed=true]").click()
    assert page.page.locator(faded).count() == 0
    page.find("not in the set")
    page.page.keyboard.press("Enter")
    page.wait_for("document.querySelector('#details').innerText.includes('not in the set')")
    assert re.search(r"left, part \d+: not in the set", page.details())
    page.close()


def test_failures_are_seen(program, browser, tmp_path):
    path = page_of(program, tmp_path, os.path.join(harness.SAMPLES, "control_flow_submodule.pt"))
    page = Page(browser, path)
    assert "1 module failed" in page.details()
    assert page.page.locator("#graph .item.failed").count() == 1
    page.item("gate").click()
    assert "Could not be traced" in page.details()
    page.page.select_option("#colour", "failures")
    assert page.page.get_attribute("#graph", "data-colour") == "failures"
    page.close()


def test_control_flow_is_boxes(program, browser, tmp_path):
    page = Page(browser, page_of(program, tmp_path, os.path.join(harness.SAMPLES, "exported_cond.pt2")))
    assert page.page.locator("#graph .item.dashed").count() >= 1
    page.page.select_option("#colour", "cost")
    assert page.page.is_visible("#legend")
    page.close()


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "{{data}} ${alert(1)}",
    "\u202egnp.exe\u2066",
    "line\nbreak\u2028and\u0000null",
    "javascript:alert(1)",
    "&lt;b&gt;",
]


def test_names_are_text(program, browser, tmp_path):
    """Names, types, paths, targets, sources and failures that try to be markup."""
    collection = large_collections.nested(60)
    collection["model"]["file"] = HOSTILE[0]
    collection["model"]["type"] = HOSTILE[2]
    graph = collection["graphs"][0]
    functions = [node for node in graph["nodes"] if node["op"] == "call_function"]
    for node, text in zip(functions, HOSTILE, strict=False):
        node["target"] = text.replace(".", "_")
        node["source"] = {"file": text, "line": 1, "function": text, "text": text}
        node["kwargs"] = {"mode": text}
    types = {module["path"]: "a." + text for module, text in zip(collection["modules"][1:], HOSTILE, strict=False)}
    for module in collection["modules"]:
        module["type"] = types.get(module["path"], module["type"])
    for node in graph["nodes"]:
        path = node["scope"]["module_path"]
        node["scope"]["module_type"] = types.get(path, node["scope"]["module_type"])
    page = Page(browser, rendered(program, tmp_path, collection))
    assert page.page.title() == HOSTILE[0]
    assert page.page.inner_text("#model-file") == HOSTILE[0]
    for text in HOSTILE:
        shown = text.replace(".", "_").replace("\u202e", "\\u202e").replace("\u2066", "\\u2066")
        shown = shown.replace("\n", "\\n").replace("\u2028", "\\u2028").replace("\0", "\\x00")
        page.find(shown.split(" ")[0])
        page.page.keyboard.press("Enter")
        page.page.wait_for_selector("#details .source")
        assert shown in page.page.locator("#details").text_content(), shown
    assert page.page.locator("img, iframe, [onerror], [onload], [onmouseover]").count() == 0
    assert page.page.locator("script").count() == 3  # licence, layout, the page itself
    page.close()


def test_policy_forbids_everything_else(nested):
    policy = nested.page.get_attribute("meta[http-equiv=Content-Security-Policy]", "content")
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "connect" not in policy
    reached = nested.page.evaluate("fetch('https://example.invalid/').then(() => true, () => false)")
    assert reached is False
    assert nested.requests == [nested.url] + [url for url in nested.requests if url.startswith("blob:")]
    assert any("Content Security Policy" in text for text in nested.complaints)
    nested.complaints.clear()


def test_same_input_same_bytes(program, tmp_path):
    first = page_of(program, tmp_path, NESTED).read_bytes()
    assert page_of(program, tmp_path, NESTED).read_bytes() == first
    assert b"\r" not in first
    json.loads(re.search(rb'<script type="application/json" id="data">(.*?)</script>', first, re.S)[1])


@pytest.mark.parametrize("make", [large_collections.nested, large_collections.flat])
@pytest.mark.parametrize("count", tiers.only([100], [100, 10_000, 100_000]))
def test_size(program, browser, tmp_path, make, count, record_property):
    path = rendered(program, tmp_path, make(count))
    assert path.stat().st_size < 2_500_000 + 230 * count
    start = time.monotonic()
    page = Page(browser, path)
    times = {"first picture": time.monotonic() - start}
    closed = page.page.locator("#graph .item.box:not(.open)")
    if closed.count():
        drawn = page.page.locator("#graph .item").count()
        start = time.monotonic()
        closed.first.locator(".switch").dispatch_event("click")
        page.wait_for(f"document.querySelectorAll('#graph .item').length !== {drawn}")
        times["expand"] = time.monotonic() - start
        assert page.page.locator("#graph .item").count() <= 2 * 130  # boxes and their headlines
    start = time.monotonic()
    assert "found" in page.find("sigmoid")
    times["find"] = time.monotonic() - start
    page.page.keyboard.press("Enter")
    page.wait_for("document.querySelectorAll('#graph .item.selected').length > 0")
    assert "aten.sigmoid.default" in page.details()
    # The tree has no more rows than can be seen.
    page.page.keyboard.press("t")
    page.page.keyboard.press("End")
    page.page.wait_for_selector("#details h2")
    assert page.page.locator("#tree .row").count() < 80
    page.close()
    for what, seconds in times.items():
        print(f"{make.__name__} {count}: {what} {seconds:.2f} s")
    assert times["first picture"] < FIRST_PICTURE and times.get("expand", 0) < EXPAND and times["find"] < FIND


def test_opens_without_a_network(program, library, tmp_path):
    """The file alone, in a network namespace of its own where the system lets us make one."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
        pytest.skip("no network namespaces here")
    chromium = tmp_path / "chromium"
    chromium.write_text(f'#!/bin/sh\nexec unshare -n "{CHROMIUM}" "$@"\n')
    chromium.chmod(0o755)
    browser = library.chromium.launch(executable_path=str(chromium), args=FLAGS)
    page = Page(browser, page_of(program, tmp_path, NESTED))
    assert "stem" in page.titles()
    page.close()
    browser.close()
