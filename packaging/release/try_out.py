"""Tests the files in dist/ in minimal systems, and prints which artefact works where; scripts/release --test runs it.

Traces are compared byte by byte with those of a build for this machine.  It needs root, because it uses chroot for these systems.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import recipes
from artefacts import DIST, version
from common import PINNED, ROOT, WORK, Failure, Step, run, say, unpack_package

SAMPLES = sorted(path for path in (ROOT / "sample_models").iterdir() if path.suffix in (".pt", ".pt2"))
SUITES = {"bullseye": "Debian 11", "bookworm": "Debian 12", "trixie": "Debian 13", "sid": "Debian unstable"}
BARE = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/nowhere", "LC_ALL": "C.UTF-8"}


class Table:
    """What was tried, and how it went."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []
        self.failed = False

    def add(self, artefact: str, system: str, test) -> None:
        since = time.monotonic()
        try:
            result = test() or "ok"
        except (Failure, AssertionError, subprocess.TimeoutExpired, OSError) as failure:
            result, self.failed = f"FAILED: {str(failure)[:600]}", True
        self.rows.append((artefact, system, f"{result} ({time.monotonic() - since:.1f} s)"))
        say(" | ".join(self.rows[-1]))

    def markdown(self) -> str:
        lines = ["| artefact | system | result |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in self.rows)]
        return "\n".join(lines) + "\n"


def wheel(target: str) -> Path:
    return DIST / f"fxtrace-{version()}-py3-none-{PINNED['targets'][target]['wheel']}.whl"


@functools.cache
def program_of_deb(processor: str) -> Path:
    folder = WORK / "tried" / f"deb-{processor}"
    run("mkdir", "-p", folder.parent)
    run("dpkg-deb", "-x", DIST / f"fxtrace_{version()}_{processor}.deb", folder)
    return folder / "usr/bin/fxtrace"


@functools.cache
def unpacked(processor: str) -> Path:
    """The static program."""
    folder = WORK / "tried" / f"static-{processor}"
    run("mkdir", "-p", folder)
    run("tar", "-xf", DIST / f"fxtrace-{version()}-linux-{processor}.tar.gz", "-C", folder)
    return folder / f"fxtrace-{version()}" / "fxtrace"


# --- traces ---


def traced(command: list[str], model: str, environment: dict[str, str] | None = None, options: tuple[str, ...] = ()) -> tuple[int, bytes]:
    done = subprocess.run([*command, "trace", model, *options], capture_output=True, timeout=300, env=environment)
    return done.returncode, done.stdout


def native_program() -> Path:
    run("cmake", "--preset", "release", cwd=ROOT)
    run("cmake", "--build", "--preset", "release", "--target", "fxtrace", "--parallel", str(os.cpu_count() or 1), cwd=ROOT)
    return ROOT / "build/release/bin/fxtrace"


class Traces:
    """What the native program makes of the samples."""

    def __init__(self) -> None:
        program = native_program()
        self.expected = {path.name: traced([str(program)], str(path)) for path in SAMPLES}

    def compare(self, command: list[str | Path], folder: str = str(ROOT / "sample_models"), environment: dict[str, str] | None = None,
                options: tuple[str, ...] = ()) -> str:
        words = [str(word) for word in command]
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            got = dict(zip(self.expected, pool.map(lambda name: traced(words, f"{folder}/{name}", environment, options), self.expected)))
        different = [name for name, answer in got.items() if answer != self.expected[name]]
        assert not different, f"{len(different)} of {len(got)} samples give something else: {different[:3]}, exit {got[different[0]][0]}"
        return f"{len(got)} samples, the same bytes"


# --- bare systems ---


def make_root(suite: str) -> Path:
    root = WORK / "roots" / suite
    if not (root / "made").exists():
        shutil.rmtree(root, ignore_errors=True)
        root.parent.mkdir(parents=True, exist_ok=True)
        run("debootstrap", "--variant=minbase", "--include=python3-venv", suite, root, log="roots.log")
        (root / "samples").mkdir()
        for path in SAMPLES:
            shutil.copy(path, root / "samples")
        (root / "made").touch()
    shutil.rmtree(root / "tried", ignore_errors=True)
    (root / "tried").mkdir()
    return root


def inside(root: Path, *command: str | Path) -> list[str]:
    return ["chroot", str(root), *map(str, command)]


def succeed(command: list, environment: dict[str, str] | None = None, timeout: int = 600, cwd: Path | None = None) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, timeout=timeout, cwd=cwd)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stderr.strip()[-400:]}"
    return done.stdout


def try_bare(table: Table, traces: Traces, suite: str, system: str) -> None:
    root = make_root(suite)
    deb = DIST / f"fxtrace_{version()}_amd64.deb"

    def install_deb() -> str:
        shutil.copy(deb, root / "tried")
        succeed(inside(root, "dpkg", "-i", f"/tried/{deb.name}"), BARE)
        try:
            return traces.compare(inside(root, "/usr/bin/fxtrace"), "/samples", BARE)
        finally:
            succeed(inside(root, "dpkg", "-r", "fxtrace"), BARE)

    def copy_static() -> str:
        shutil.copy(unpacked("amd64"), root / "tried")
        return traces.compare(inside(root, "/tried/fxtrace"), "/samples", BARE)

    def install_wheel() -> str:
        python = succeed(inside(root, "python3", "-c", "import sys; print('.'.join(map(str, sys.version_info[:2])))"), BARE).strip()
        shutil.copy(wheel("x86_64-linux-gnu"), root / "tried")
        succeed(inside(root, "python3", "-m", "venv", "/tried/venv"), BARE)
        if python == "3.9":  # older than the Python package, which pip says; the program is that of the wheel all the same
            succeed(inside(root, "python3", "-m", "zipfile", "-e", f"/tried/{wheel('x86_64-linux-gnu').name}", "/tried/wheel"), BARE)
            program = f"/tried/wheel/fxtrace-{version()}.data/scripts/fxtrace"
            (root / program[1:]).chmod(0o755)
            return f"its program (Python {python} is too old for pip): {traces.compare(inside(root, program), '/samples', BARE)}"
        succeed(inside(root, "/tried/venv/bin/pip", "install", "--no-index", f"/tried/{wheel('x86_64-linux-gnu').name}"), BARE)
        call = "import fxtrace; print(len(fxtrace.trace('/samples/nested_scripted.pt').graphs[0].nodes))"
        assert succeed(inside(root, "/tried/venv/bin/python", "-c", call), BARE).strip() == "16"
        return f"Python {python}, {traces.compare(inside(root, '/tried/venv/bin/fxtrace'), '/samples', BARE)}"

    table.add("Debian package", system, install_deb)
    table.add("static program", system, copy_static)
    table.add("wheel, glibc", system, install_wheel)


def try_empty(table: Table, traces: Traces) -> None:
    """Nothing but the program and the models, as nobody: what the container file makes."""
    program = unpacked("amd64")
    box = ["bwrap", "--unshare-all", "--uid", "65534", "--gid", "65534", "--ro-bind", program, "/fxtrace", "--ro-bind", ROOT / "sample_models", "/samples"]
    table.add("static program", "an empty root, as nobody", lambda: traces.compare([*box, "/fxtrace"], "/samples", BARE))
    table.add("static program", "an empty root with /proc", lambda: traces.compare([*box, "--proc", "/proc", "/fxtrace"], "/samples", BARE))

    def refuse() -> str:
        done = subprocess.run([str(program), "verify", str(SAMPLES[0])], capture_output=True, text=True)
        assert done.returncode == 3 and "built without a way to load LibTorch" in done.stderr, done.stderr
        return "verify says that it cannot"

    table.add("static program", "verify", refuse)
    for tool in ("docker", "podman"):
        if shutil.which(tool) and subprocess.run([tool, "info"], capture_output=True).returncode == 0:
            table.add("container file", tool, lambda tool=tool: succeed([tool, "build", "-q", "-t", "fxtrace-tried", "-f", DIST / "Containerfile", DIST]) and
                      traces.compare([tool, "run", "--rm", "-v", f"{ROOT / 'sample_models'}:/samples:ro", "fxtrace-tried"], "/samples"))
            break


def try_arm(table: Table, traces: Traces) -> None:
    """In an emulator of the processor, which has neither Landlock nor seccomp for what it runs."""
    static = unpacked("arm64")
    emulator, open_door = ["qemu-aarch64-static"], ("--no-isolation",)
    table.add("static program, arm64", "qemu", lambda: traces.compare([*emulator, static], options=open_door))

    def deb() -> str:
        libc = WORK / "tried" / "libc-arm64"
        unpack_package("libc6-arm64-cross", libc)
        return traces.compare([*emulator, "-L", libc / "usr/aarch64-linux-gnu", program_of_deb("arm64")], options=open_door)

    table.add("Debian package, arm64", "qemu", deb)


# --- Python, torch ---


def make_venv(name: str, python: str | Path, *packages: str | Path, index: bool = False) -> Path:
    folder = WORK / "tried" / name
    shutil.rmtree(folder, ignore_errors=True)
    succeed([python, "-m", "venv", folder])
    succeed([folder / "bin/python", "-m", "pip", "install", "--quiet", *([] if index else ["--no-index"]), *packages],
            {**os.environ, "PIP_CONSTRAINT": "/dev/null"}, timeout=1800)
    return folder


def pythons() -> dict[str, str]:
    """Those of this machine that the wheel is for; the bare systems have others."""
    found = {}
    for minor in range(10, 20):
        of_pyenv = map(str, sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3")))
        for python in (*of_pyenv, shutil.which(f"python3.{minor}")):
            if python and subprocess.run([python, "-c", "import venv, ensurepip"], capture_output=True).returncode == 0:
                found[f"3.{minor}"] = python
    return found


def try_pythons(table: Table) -> None:
    def use(name: str, python: str) -> str:
        folder = make_venv(f"python{name}", python, wheel("x86_64-linux-gnu"))
        call = f"import fxtrace; print(fxtrace.trace({str(ROOT / 'sample_models/nested_scripted.pt')!r}).graphs[0].nodes[0].name)"
        assert succeed([folder / "bin/python", "-c", call]).strip() == "x"
        assert "libfxtrace" not in succeed([folder / "bin/fxtrace", "--version"])
        return "installed and used"

    for name, python in pythons().items():
        table.add("wheel, glibc", f"Python {name}", lambda name=name, python=python: use(name, python))


def try_torch(table: Table, number: str) -> None:
    """verify with the torch that stands beside it, and, by the Debian package's program, with that of the active environment."""
    model = ROOT / "sample_models/attention_exported.pt2"

    def use() -> str:
        folder = make_venv(f"torch{number}", sys.executable, wheel("x86_64-linux-gnu"), f"torch=={number}", index=True)
        plain = {name: value for name, value in os.environ.items() if name not in ("FXTRACE_LIBTORCH", "VIRTUAL_ENV")}
        beside = subprocess.run([folder / "bin/fxtrace", "verify", "-v", model], capture_output=True, text=True, env=plain)
        assert beside.returncode == 0 and "the torch beside it" in beside.stderr, beside.stderr[-400:]
        active = subprocess.run([program_of_deb("amd64"), "verify", "-v", model], capture_output=True, text=True, env={**plain, "VIRTUAL_ENV": str(folder)})
        assert active.returncode == 0 and "VIRTUAL_ENV" in active.stderr, active.stderr[-400:]
        library = ["--op-library", "libm.so.6"]  # which registers nothing
        succeed([folder / "bin/fxtrace", "trace", ROOT / "sample_models/nested_scripted.pt", *library], plain)
        return re.search(r"LibTorch \S+", beside.stderr)[0]

    table.add("wheel and Debian package, verify", f"torch {number}", use)


def try_sbom() -> str:
    tools = make_venv("spdx", sys.executable, "spdx-tools", index=True)
    succeed([tools / "bin/pyspdxtools", "--infile", DIST / f"fxtrace-{version()}.spdx.json"])
    return "valid SPDX 2.3"


def try_sdist(table: Table) -> None:
    """Without npm and the packages of the page, which is in them."""

    def configure() -> str:
        where = WORK / "tried" / "sdist"
        where.mkdir(parents=True)
        run("tar", "-xf", DIST / f"fxtrace-{version()}.tar.gz", "-C", where, "--strip-components=1")
        environment = {**os.environ, "PATH": "/usr/bin:/bin"}
        succeed(["cmake", "-G", "Ninja", "-S", where, "-B", where / "build", "-DFXTRACE_TESTS=OFF", "-DFXTRACE_EXECUTE=OFF"], environment)
        page = Path("lib/writers/CMakeFiles/fxtrace_writers.dir/html_page.cpp.o")
        succeed(["cmake", "--build", where / "build", "--target", page], environment)
        return "configured, and the page compiled"

    table.add("sources", "no npm", configure)


def try_tools(table: Table) -> None:
    """As people install: pip, uv, pipx, the hook."""
    file = wheel("x86_64-linux-gnu")
    model = ROOT / "sample_models/nested_scripted.pt"
    tools = make_venv("tools", sys.executable, "uv", "pipx", "pre-commit", index=True)
    home = Path(tempfile.mkdtemp())
    environment = {**os.environ, "HOME": str(home), "PATH": f"{tools / 'bin'}:/usr/bin:/bin", "UV_OFFLINE": "1", "UV_CACHE_DIR": str(home / "uv"),
                   "PIPX_HOME": str(home / "pipx"), "PIPX_BIN_DIR": str(home / "bin"), "PIP_FIND_LINKS": str(DIST), "PRE_COMMIT_HOME": str(home / "pre-commit")}

    def in_ten_seconds() -> str:
        since = time.monotonic()
        succeed([sys.executable, "-m", "venv", home / "new"])
        made = time.monotonic() - since
        succeed([home / "new/bin/pip", "install", "--quiet", "--no-index", file])
        succeed([home / "new/bin/fxtrace", "render", model, "-o", home / "model.html"])
        seconds = time.monotonic() - since - made
        assert seconds < 10, f"it took {seconds:.1f} s"
        return f"from the file to a picture in {seconds:.1f} s"

    def hook() -> str:
        repository, hooks = home / "models", home / "hooks"
        for folder in (repository, hooks):
            folder.mkdir()
            succeed(["git", "init", "--quiet", folder])
        succeed(["tar", "-xf", DIST / f"fxtrace-pre-commit-{version()}.tar.gz", "-C", hooks, "--strip-components=1"])
        shutil.copy(model, repository)
        (repository / ".pre-commit-config.yaml").write_text(
            f"repos:\n- repo: {hooks}\n  rev: v{version()}\n  hooks:\n  - id: fxtrace-check\n    args: [--no-failed, --security]\n")
        git = ["git", "-c", "user.name=tried", "-c", "user.email=tried@example.org"]
        for folder in (hooks, repository):
            succeed(["git", "add", "-A"], cwd=folder)
            succeed([*git, "commit", "-q", "-m", "As it is"], cwd=folder)
        succeed([*git, "tag", "-a", f"v{version()}", "-m", "As it is"], cwd=hooks)
        said = succeed(["pre-commit", "run", "--all-files"], environment, cwd=repository)
        assert "Passed" in said, said
        (repository / ".pre-commit-config.yaml").write_text((repository / ".pre-commit-config.yaml").read_text().replace("--no-failed", "--max-params, '1'"))
        broken = subprocess.run(["pre-commit", "run", "--all-files"], capture_output=True, text=True, env=environment, cwd=repository)
        assert broken.returncode == 1 and "params" in broken.stdout, broken.stdout
        return "passes, and fails where a rule is broken"

    table.add("wheel, glibc", "pip", in_ten_seconds)
    table.add("wheel, glibc", "uvx", lambda: succeed(["uvx", "--from", file, "fxtrace", model], environment) and "")
    table.add("wheel, glibc", "pipx", lambda: succeed(["pipx", "install", file], environment) and succeed([home / "bin/fxtrace", model], environment) and "")
    table.add("pre-commit hook", "a fresh repository", hook)
    shutil.rmtree(home)


def try_adapter() -> str:
    """Installed beside Model Explorer, which lists it and has it convert a model."""
    adapter = DIST / f"fxtrace_adapter_model_explorer-{version()}-py3-none-any.whl"
    folder = make_venv("explorer", sys.executable, wheel("x86_64-linux-gnu"), adapter, index=True)
    call = (
        "from model_explorer.extension_manager import ExtensionManager as Manager; m = Manager(['fxtrace_adapter_model_explorer']); m.load_extensions(); "
        f"print(m.run_cmd({{'cmdId': 'convert', 'extensionId': 'fxtrace', 'modelPath': {str(SAMPLES[0])!r}, 'settings': {{}}, 'deleteAfterConversion': False}}))"
    )
    assert "'id': '(root)'" in succeed([folder / "bin/python", "-c", call])
    return "listed, and converts"


def try_recipes(table: Table) -> None:
    folder = WORK / "tried" / "recipes"
    folder.mkdir(parents=True)
    run("tar", "-xf", DIST / f"fxtrace-recipes-{version()}.tar.gz", "-C", folder, "--strip-components=1")
    for name, (tool, is_there, check) in recipes.TOOLS.items():
        if is_there():
            table.add(name, tool, lambda check=check, name=name: check(folder / name))


# --- walls ---


def try_walls(table: Table) -> None:
    """Kernels that lack a wall: a warning where one is missing, a refusal where both are."""
    model = str(ROOT / "sample_models/nested_scripted.pt")
    no_landlock = "--inject=landlock_create_ruleset:error=ENOSYS"
    no_seccomp = "--inject=seccomp:error=EINVAL"

    def without(program: Path, faults: list[str], code: int, says: str) -> str:
        command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=landlock_create_ruleset,seccomp", *faults, program, "trace", model]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60)
        assert done.returncode == code and says in done.stderr, f"exit {done.returncode}: {done.stderr[:300]}"
        return done.stderr.splitlines()[0].replace(model, "MODEL")

    for name, program in (("Debian package", program_of_deb("amd64")), ("static program", unpacked("amd64"))):
        table.add(name, "no Landlock", lambda program=program: without(program, [no_landlock], 0, "Landlock"))
        table.add(name, "no seccomp", lambda program=program: without(program, [no_seccomp], 0, "seccomp"))
        table.add(name, "neither", lambda program=program: without(program, [no_landlock, no_seccomp], 3, "neither seccomp nor Landlock"))
        boxed = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-user", "--disable-userns", program, "trace", model]
        table.add(name, "a container without user namespaces", lambda boxed=boxed: succeed(boxed) and "")


def main() -> None:
    if os.geteuid() != 0:
        raise Failure("bare systems can be made and changed into by root alone: sudo scripts/release --test")
    if not (DIST / "SHA256SUMS").exists():
        raise Failure("there is no dist/SHA256SUMS: scripts/release makes what is tried")
    since = time.monotonic()
    run("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=DIST)
    shutil.rmtree(WORK / "tried", ignore_errors=True)
    table = Table()
    with Step("the build for this machine, and its traces"):
        traces = Traces()
    for suite, system in SUITES.items():
        try_bare(table, traces, suite, system)
    try_empty(table, traces)
    try_walls(table)
    if (DIST / f"fxtrace-{version()}-linux-arm64.tar.gz").exists():  # not after scripts/release --native
        try_arm(table, traces)
    try_pythons(table)
    try_tools(table)
    try_sdist(table)
    table.add("adapter", "Model Explorer", try_adapter)
    try_recipes(table)
    table.add("SBOM", "spdx-tools", try_sbom)
    for number in ("2.13.0", PINNED["torch"][-1]):
        try_torch(table, number)
    print(table.markdown())
    (WORK / "tried.md").write_text(table.markdown())
    say(f"{len(table.rows)} trials, {'some failed' if table.failed else 'all held'}: {time.monotonic() - since:.0f} s")
    if table.failed:
        sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        say(str(failure))
        sys.exit(1)
