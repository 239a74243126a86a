"""Tests the parts of scripts/release without compiling: cutting versions, fetching headers, writing archives."""

import http.server
import io
import json
import pathlib
import re
import subprocess
import sys
import threading
import zipfile

import harness
import pytest
import torch

ROOT = pathlib.Path(harness.ROOT)
RELEASE = ROOT / "packaging" / "release"
NOTICE = (ROOT / "NOTICE").read_text()
sys.path.insert(0, str(RELEASE))
import artefacts  # noqa: E402
import common  # noqa: E402
import cut  # noqa: E402
import libraries  # noqa: E402
import recipes  # noqa: E402
import torch_headers  # noqa: E402


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A repository with what a version is cut of."""
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    (tmp_path / "CMakeLists.txt").write_text("project(fxtrace VERSION 0.1.0 LANGUAGES CXX)\nset(OTHER 0.1.0)\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n### Added\n\n- This.\n\n## [0.1.0] - 2026-01-01\n\n- That.\n")
    (tmp_path / "docs" / "page.md").write_text("fxtrace 0.1.0, v0.1.0 and 10.1.0.2\nfind_package(fxtrace 0.1 REQUIRED)\n")
    (tmp_path / "docs" / "reference" / "benchmarks.md").write_text("fxtrace 0.1.0\n")
    for command in (["init", "-q"], ["config", "user.name", "a"], ["config", "user.email", "a@example.org"], ["add", "-A"], ["commit", "-qm", "As it is"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(cut, "ROOT", tmp_path)
    monkeypatch.setattr(artefacts, "ROOT", tmp_path)
    monkeypatch.setattr(common, "WORK", tmp_path / "work")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1780000000")
    return tmp_path


def test_a_version_is_cut(tree):
    assert artefacts.version() == "0.1.0" and artefacts.notes() == "- That.\n"
    cut.cut("0.2.0")
    assert artefacts.version() == "0.2.0" and artefacts.notes() == "### Added\n\n- This.\n"
    assert "## [Unreleased]\n\n## [0.2.0] - 2026-05-28\n" in (tree / "CHANGELOG.md").read_text()
    assert (tree / "CMakeLists.txt").read_text().endswith("set(OTHER 0.1.0)\n")
    assert (tree / "docs" / "page.md").read_text() == "fxtrace 0.2.0, v0.2.0 and 10.1.0.2\nfind_package(fxtrace 0.2 REQUIRED)\n"
    assert (tree / "docs" / "reference" / "benchmarks.md").read_text() == "fxtrace 0.1.0\n"  # what was measured
    tags = subprocess.run(["git", "tag", "--points-at", "HEAD"], cwd=tree, capture_output=True, text=True, check=True).stdout
    assert tags == "v0.2.0\n"


@pytest.mark.parametrize("version, says", [("0.2", "is no version"), ("0.1.0", "has 0.1.0 already"), ("0.3.0", "commit them first")])
def test_what_cannot_be_cut(tree, version, says):
    if version == "0.3.0":
        (tree / "docs" / "page.md").write_text("changed")
    before = {path: path.read_bytes() for path in (tree / "CMakeLists.txt", tree / "CHANGELOG.md")}
    with pytest.raises(common.Failure, match=says):
        cut.cut(version)
    assert before == {path: path.read_bytes() for path in before}


def test_nothing_to_release(tree):
    cut.cut("0.2.0")
    with pytest.raises(common.Failure, match="nothing to release"):
        cut.cut("0.3.0")


class Server(http.server.BaseHTTPRequestHandler):
    content = b""
    has_parts = True
    asked: list[str] = []

    def do_GET(self):  # noqa: N802
        part, status = self.headers["Range"], 200
        type(self).asked.append(part)
        data = self.content
        if self.has_parts:
            first, last = part.removeprefix("bytes=").split("-")
            start = int(first) if first else len(data) - int(last)
            end = int(last) + 1 if first else len(data)
            status = 206
            data = data[start:end]
        self.send_response(status)
        if self.has_parts:
            self.send_header("Content-Range", f"bytes {start}-{start + len(data) - 1}/{len(self.content)}")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("has_parts", [True, False])
def test_headers_of_a_wheel(tmp_path, monkeypatch, has_parts):
    """In few requests, of which none asks for the libraries, from servers that send parts."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as wheel:
        for i in range(50):
            wheel.writestr(f"torch/include/a{i}.h", f"int a{i};\n" * 100)
        wheel.writestr("torch/lib/libtorch_cpu.so", b"\0" * (8 << 20))
        wheel.writestr("torch/include/z.h", "int z;\n")
    monkeypatch.setattr(Server, "content", held.getvalue())
    monkeypatch.setattr(Server, "has_parts", has_parts)
    monkeypatch.setattr(Server, "asked", [])
    monkeypatch.setattr(torch_headers, "WORK", tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(torch_headers, "address_of", lambda version: f"http://127.0.0.1:{server.server_port}/torch.whl")
        folder = torch_headers.fetch("9.9.0")
        server.shutdown()
    assert (folder / "torch/include/a7.h").read_text() == "int a7;\n" * 100 and (folder / "torch/include/z.h").read_text() == "int z;\n"
    assert not (folder / "torch/lib").exists()
    assert len(Server.asked) <= (8 if has_parts else 1), Server.asked


def test_archives_are_the_same_for_the_same_content(tmp_path):
    members = {"a/b": b"text", "a/program": pathlib.Path(__file__), "a/a": b""}
    one = artefacts.write_tar(tmp_path / "one.tar.gz", members, 1780000000, {"a/program"})
    other = artefacts.write_tar(tmp_path / "other.tar.gz", dict(reversed(members.items())), 1780000000, {"a/program"})
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("name", recipes.RECIPES)
def test_recipes(tmp_path, name):
    """The archive of a release has them with version and checksum, and the tool of each takes it, where it is installed."""
    sums = "0123456789abcdef" * 4
    text = recipes.filled("9.8.7", sums)[name]
    assert re.search(r"[\"/v]9\.8\.7[\"/]", text) and f'"{sums}"' in text and not re.search("@[A-Z]", text)
    file = tmp_path / pathlib.Path(name).name
    file.write_text(text)
    tool, is_there, check = recipes.TOOLS[name]
    if not is_there():
        pytest.skip(f"no {tool}")
    assert check(file)


def test_recipes_need_what_the_build_links():
    """Each names every library that CMake looks for."""
    text = (ROOT / "cmake/Dependencies.cmake").read_text().partition("if(FXTRACE_EXECUTE")[0]
    found = {name.lower() for name in re.findall(r"^ *(?:find_package|pkg_check_modules)\((\w+)", text, re.MULTILINE)} - {"pkgconfig"}
    for name, recipe in recipes.filled("9.8.7", "").items():
        assert {library for library in found if library.removesuffix("3") not in recipe} == set(), name


def test_what_is_pinned():
    """Each library has a way of being built, and its licence stands in NOTICE."""
    pinned = json.loads((RELEASE / "pinned.json").read_text())
    named = harness.licences_of_notice(NOTICE)
    for source, library in pinned["libraries"].items():
        assert source == "sqlite3" or (source in libraries.CMAKE_OPTIONS) != (source in libraries.CONFIGURE_OPTIONS)
        assert named[library["name"]] == library["licence"].replace("blessing", "public domain")
    assert [number.rpartition(".")[0] for number in pinned["torch"]] == [f"2.{minor}" for minor in range(10, 16)]
    assert set(named) == {library["name"] for library in pinned["libraries"].values()} | {"elkjs", "PyTorch"}


def test_debian_is_told_the_same():
    stanzas = dict(re.findall(r"(?ms)^Files: (.*?)\n.*?^License: (.*?)$", (ROOT / "packaging/deb/copyright").read_text()))
    own = [text for files, text in stanzas.items() if files.startswith("lib/operators/")]
    assert stanzas.pop("build/web/node_modules/elkjs/*") == "EPL-2.0" and own == ["BSD-3-Clause-PyTorch"]
    spelled = {"MIT": "Expat", "LGPL-2.1-only": "LGPL-2.1", "public domain": "public-domain"}
    for name, licence in harness.licences_of_notice(NOTICE).items():
        assert name in ("elkjs", "PyTorch") or stanzas[name] == spelled.get(licence, licence)


def test_what_the_build_links_is_named():
    text = (ROOT / "cmake/Dependencies.cmake").read_text().partition("if(FXTRACE_TESTS")[0]
    found = set(re.findall(r"^ *(?:find_package|pkg_check_modules)\((\w+)|libjemalloc", text, re.MULTILINE)) - {"PkgConfig", ""}
    named = {name.lower() for name in harness.licences_of_notice(NOTICE)}
    assert {name.lower().replace("sqlite3", "sqlite") for name in found} <= named and "jemalloc" in named


def test_what_is_of_pytorch_says_so():
    """NOTICE has PyTorch's licence, and names the files with parts of it, each of which refers to it."""
    (licence,) = pathlib.Path(torch.__file__).parents[1].glob("torch-*.dist-info/licenses/LICENSE")
    assert " ".join(licence.read_text().split()) in " ".join(NOTICE.split())
    named = re.findall(r"^  ((?:lib|python|schemas)/\S+)$", NOTICE, re.MULTILINE)
    files = [path for folder in ("lib", "python/fxtrace", "schemas/operators") for path in (ROOT / folder).rglob("*") if path.suffix in (".h", ".cpp", ".inc", ".py", ".txt")]
    referring = [path for path in files if "BSD-3-Clause, see NOTICE" in path.read_text().replace("\n//", "")]
    assert sorted(str(path.relative_to(ROOT)) for path in referring) == sorted(named)
