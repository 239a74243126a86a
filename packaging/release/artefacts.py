"""Makes the files of a release in dist/: wheels, static programs, Debian packages, sources, an SBOM, checksums."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import json
import re
import shutil
import tarfile
from datetime import datetime, timezone
from pathlib import Path

import libraries
import program
import recipes
from common import PINNED, ROOT, TOOLS, WORK, Failure, run

DIST = ROOT / "dist"
LICENCES = WORK / "licences"


def version() -> str:
    return re.search(r"project\(fxtrace VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def collect_licences() -> None:
    """Of all that is linked in, as Debian's sources and the compiler tell them."""
    shutil.rmtree(LICENCES, ignore_errors=True)
    LICENCES.mkdir(parents=True)
    for source, library in PINNED["libraries"].items():
        shutil.copy(libraries.source_of(source) / "debian" / "copyright", LICENCES / f"{library['name']}.txt")
    shutil.copy("/usr/share/common-licenses/LGPL-2.1", LICENCES / "LGPL-2.1.txt")  # to which that of libseccomp refers
    compiler = libraries.zig().parent
    for name, file in {"llvm": "lib/libcxx/LICENSE.TXT", "musl": "lib/libc/musl/COPYRIGHT", "zig": "LICENSE"}.items():
        shutil.copy(compiler / file, LICENCES / f"{name}.txt")
    gcc = next((WORK / "libstdc++").glob("*/usr/share/doc/*/copyright"), None)
    if gcc:  # of its headers' templates, in the plugins
        shutil.copy(gcc, LICENCES / "libstdc++.txt")


@functools.cache  # for the wheel and for what is not one
def staged(target: str) -> Path:
    """What `cmake --install` writes for the target, below usr/."""
    folder = WORK / "staged" / target
    shutil.rmtree(folder, ignore_errors=True)
    run("cmake", "--install", program.folder_of(target), "--component", "Runtime", log=f"{target}-fxtrace.log", env={"DESTDIR": str(folder)})
    return folder / "usr"


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


# --- sources ---


def make_sdist(epoch: int) -> Path:
    """The sources of HEAD, with the page of the HTML picture, so that who builds them needs no npm."""
    tree = WORK / "sdist"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    run("git", "archive", "--output", WORK / "head.tar", "HEAD", cwd=ROOT)
    run("tar", "-xf", WORK / "head.tar", "-C", tree)
    shutil.copy(next(program.folder_of("x86_64-linux-musl").rglob("html_page.cpp")), tree / "web")
    shutil.copy(ROOT / "build/web/node_modules/elkjs/LICENSE.md", tree / "web/elkjs-EPL-2.0.md")
    out = WORK / "sdist-out"
    shutil.rmtree(out, ignore_errors=True)
    run(TOOLS / "bin/python", "-m", "build", "--sdist", "--no-isolation", "--outdir", out, tree,
        env={"SOURCE_DATE_EPOCH": str(epoch)}, log="sdist.log")
    return Path(shutil.copy(next(out.glob("*.tar.gz")), DIST))


# --- wheels ---


def metadata_of(sdist: Path) -> str:
    with tarfile.open(sdist) as archive:
        return archive.extractfile(f"fxtrace-{version()}/PKG-INFO").read().decode()


def make_wheel(target: str, sdist: Path, epoch: int) -> Path:
    """The program and its files where pip puts scripts and data, beside the Python package."""
    name = f"fxtrace-{version()}"
    tree = WORK / "wheels" / target
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "python/fxtrace", tree / "fxtrace", ignore=shutil.ignore_patterns("__pycache__"))
    usr, data = staged(target), tree / f"{name}.data"
    shutil.copytree(usr / "bin", data / "scripts")
    for part in ("lib", "share"):
        if (usr / part).exists():
            shutil.copytree(usr / part, data / "data" / part)
    info = tree / f"{name}.dist-info"
    (info / "licenses").mkdir(parents=True)
    (info / "METADATA").write_text(metadata_of(sdist))
    for licence in ("LICENSE", "NOTICE"):
        shutil.copy(ROOT / licence, info / "licenses")
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: fxtrace {version()}\nRoot-Is-Purelib: false\n"
                                f"Tag: py3-none-{PINNED['targets'][target]['wheel']}\n")
    for path in files_below(tree):
        path.chmod(0o755 if path.parent.name == "scripts" else 0o644)
    run(TOOLS / "bin/python", "-m", "wheel", "pack", tree, "--dest-dir", DIST, env={"SOURCE_DATE_EPOCH": str(epoch)}, log="wheels.log")
    wheel = DIST / f"{name}-py3-none-{PINNED['targets'][target]['wheel']}.whl"
    audit(wheel, target)
    return wheel


def audit(wheel: Path, target: str) -> None:
    """auditwheel has to say that it holds to its tag, for any processor.  LibTorch is nobody's to bring along."""
    from auditwheel.architecture import Architecture
    from auditwheel.libc import Libc
    from auditwheel.wheel_abi import analyze_wheel_abi

    found = analyze_wheel_abi(Libc.MUSL if program.is_static(target) else Libc.GLIBC, Architecture(target.split("-")[0]), wheel,
                              frozenset(["libtorch_cpu.so", "libc10.so"]), disable_isa_ext_check=False, allow_graft=False).overall_policy.name
    tag = PINNED["targets"][target]["wheel"]
    if found != tag:
        raise Failure(f"{wheel.name} holds to {found} only, as auditwheel finds, and not to {tag}")


# --- archives ---


def write_tar(out: Path, members: dict[str, Path | bytes], epoch: int, executable: set[str] = frozenset()) -> Path:
    """A .tar.gz that is the same for the same content."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(members):
            content = members[name]
            data = content if isinstance(content, bytes) else content.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(data), epoch, 0o755 if name in executable else 0o644
            archive.addfile(entry, io.BytesIO(data))
    with out.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as compressed:
        compressed.write(raw.getvalue())
    return out


def make_static(target: str, epoch: int) -> Path:
    usr, folder = staged(target), f"fxtrace-{version()}"
    members: dict[str, Path | bytes] = {f"{folder}/{name}": ROOT / name for name in ("README.md", "CHANGELOG.md", "LICENSE", "NOTICE")}
    members[f"{folder}/fxtrace"] = usr / "bin/fxtrace"
    for path in files_below(usr / "share"):
        members[f"{folder}/share/{path.relative_to(usr / 'share')}"] = path
    out = DIST / f"{folder}-linux-{PINNED['targets'][target]['debian']}.tar.gz"
    return write_tar(out, members, epoch, {f"{folder}/fxtrace"})


def make_deb(target: str, epoch: int) -> Path:
    work = program.folder_of(target)
    env = {"SOURCE_DATE_EPOCH": str(epoch)}
    run("cpack", "-G", "DEB", "-B", work / "deb", cwd=work, env=env, log=f"{target}-fxtrace.log")
    return Path(shutil.copy(next((work / "deb").glob("*.deb")), DIST))


def make_container() -> Path:
    text = (Path(__file__).parent / "Containerfile").read_text().replace("@VERSION@", version())
    out = DIST / "Containerfile"
    out.write_text(text)
    return out


def make_pre_commit(epoch: int) -> Path:
    """The content of a repository that pre-commit installs the hook from: it needs the wheel of this version, and no compiler."""
    folder = f"fxtrace-pre-commit-{version()}"
    source = ROOT / "packaging/pre-commit"
    members: dict[str, Path | bytes] = {f"{folder}/{path.relative_to(source)}": path.read_text().replace("@VERSION@", version()).encode()
                                        for path in files_below(source)}
    members[f"{folder}/.pre-commit-hooks.yaml"] = ROOT / ".pre-commit-hooks.yaml"
    members[f"{folder}/LICENSE"] = ROOT / "LICENSE"
    return write_tar(DIST / f"{folder}.tar.gz", members, epoch)


def make_adapter(epoch: int) -> Path:
    """The wheel of the adapter for Model Explorer, which is Python alone."""
    tree, source = WORK / "adapter", ROOT / "packaging/model-explorer"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(source, tree, ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "pyproject.toml").write_text((source / "pyproject.toml").read_text().replace("@VERSION@", version()))
    shutil.copy(ROOT / "LICENSE", tree)
    run(TOOLS / "bin/python", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", DIST, tree,
        env={"SOURCE_DATE_EPOCH": str(epoch)}, log="wheels.log")
    return DIST / f"fxtrace_adapter_model_explorer-{version()}-py3-none-any.whl"


def make_recipes(sdist: Path, epoch: int) -> Path:
    """What conda-forge, Homebrew and nix build these sources by."""
    folder = f"fxtrace-recipes-{version()}"
    texts = recipes.filled(version(), hashlib.sha256(sdist.read_bytes()).hexdigest())
    return write_tar(DIST / f"{folder}.tar.gz", {f"{folder}/{name}": text.encode() for name, text in texts.items()}, epoch)


# --- what is in it ---


def notes() -> str:
    """What the changelog says of this version, or of what comes after the last one."""
    text = (ROOT / "CHANGELOG.md").read_text()
    for name in (version(), "Unreleased"):
        found = re.search(rf"(?ms)^## \[{re.escape(name)}\].*?\n(.*?)(?=^## \[|\Z)", text)
        if found and found[1].strip():
            return found[1].strip() + "\n"
    raise Failure(f"CHANGELOG.md has neither a section for {version()} nor one for what is unreleased")


def make_sbom(epoch: int) -> Path:
    """SPDX 2.3: what each artefact holds, with where it comes from."""
    def package(name: str, number: str, licence: str, place: str, purl: str | None = None) -> dict:
        entry = {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": number, "licenseConcluded": licence,
                 "licenseDeclared": licence, "copyrightText": "NOASSERTION", "downloadLocation": place, "filesAnalyzed": False}
        if purl:
            entry["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
        return entry

    own = package("fxtrace", version(), "Apache-2.0", "NOASSERTION", f"pkg:pypi/fxtrace@{version()}")
    held = [package(library["name"], library["version"], library["licence"], "NOASSERTION",
                    f"pkg:deb/debian/{source}@{library['version'].replace(':', '%3A')}?arch=source") for source, library in PINNED["libraries"].items()]
    zig = PINNED["python"]["ziglang"]
    held += [package(name, f"of ziglang {zig}", licence, "NOASSERTION", f"pkg:pypi/ziglang@{zig}") for name, licence in
             [("llvm-runtimes", "Apache-2.0 WITH LLVM-exception"), ("musl", "MIT")]]
    elk = json.loads((ROOT / "build/web/node_modules/elkjs/package.json").read_text())["version"]
    held.append(package("elkjs", elk, "EPL-2.0", "NOASSERTION", f"pkg:npm/elkjs@{elk}"))
    held.append(package("PyTorch", "parts that NOTICE names", "BSD-3-Clause", "NOASSERTION"))
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"fxtrace-{version()}",
        "documentNamespace": f"https://spdx.org/spdxdocs/fxtrace-{version()}-{hashlib.sha256(json.dumps(PINNED).encode()).hexdigest()[:16]}",
        "creationInfo": {"created": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: scripts/release"]},
        "packages": [own, *held],
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-fxtrace"},
                          *({"spdxElementId": "SPDXRef-fxtrace", "relationshipType": "CONTAINS" if entry["name"] in ("elkjs", "PyTorch") else "STATIC_LINK",
                             "relatedSpdxElement": entry["SPDXID"]} for entry in held)],
    }
    out = DIST / f"fxtrace-{version()}.spdx.json"
    out.write_text(json.dumps(document, indent=2) + "\n")
    return out


def write_checksums() -> None:
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files_below(DIST) if path.name != "SHA256SUMS"]
    (DIST / "SHA256SUMS").write_text("".join(lines))


# The most bytes that each may take, of which an issue is made before anybody downloads them.
LIMITS = {".whl": 8 << 20, "static": 15 << 20}


def check_sizes() -> None:
    for path in DIST.glob("*.whl"):
        if path.stat().st_size > LIMITS[".whl"]:
            raise Failure(f"{path.name} has {path.stat().st_size} bytes, more than 8 MB")
    for target in PINNED["targets"]:
        binary = WORK / "staged" / target / "usr/bin/fxtrace"
        if program.is_static(target) and binary.exists() and binary.stat().st_size > LIMITS["static"]:
            raise Failure(f"the static program for {target} has {binary.stat().st_size} bytes, more than 15 MB")
