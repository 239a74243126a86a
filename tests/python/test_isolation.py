"""Tests that the process that reads a model is isolated: whatever an archive or a library does there ends as one line of error."""

import io
import itertools
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import time

import jsonschema_rs
import pytest

import hostile
import hostile_exported

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ("attention_scripted.pt", "quantized.pt", "attention_exported.pt2")


def run(program, *arguments, **options):
    return subprocess.run(
        [program.path, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options
    )


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("command", ["trace", "inspect"])
def test_same_result(program, sample, command):
    model = ROOT / "sample_models" / sample
    inside = run(program, command, model)
    assert inside.returncode == 0
    outside = run(program, command, model, "--no-isolation")
    assert (inside.stdout, inside.stderr) == (outside.stdout, outside.stderr)


def test_same_result_of_a_collection(program, tmp_path):
    saved = tmp_path / "saved.json"
    assert run(program, "trace", ROOT / "sample_models" / SAMPLES[0], "-o", saved).returncode == 0
    for extra in ([], ["--no-isolation"]):
        rendered = run(program, "render", saved, *extra)
        assert (rendered.returncode, rendered.stdout) == (0, saved.read_text())


def loop(turns: str, after: str = "") -> str:
    return f"n = 0\n_0 = True\nwhile _0:\n  n = torch.add(n, 1)\n  _0 = {turns}\n{after}return torch.add(x, n)"


def endless(tmp_path) -> list:
    """The arguments of a trace that takes more time than anybody has."""
    model = tmp_path / "model.pt"
    model.write_bytes(hostile.body_case(loop("True"))())
    return ["trace", model, "--max-iterations", 10**12]


def reader_of(process: subprocess.Popen) -> int:
    """The process that reads the model."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if found := children.read_text().split():
            return int(found[0])
    raise AssertionError("no process reads the model")


@pytest.mark.parametrize("sent", [signal.SIGSEGV, signal.SIGFPE, signal.SIGABRT, signal.SIGKILL])
def test_crash(program, tmp_path, sent):
    """As one line, and the output is as it was."""
    arguments, output = endless(tmp_path), tmp_path / "out.json"
    output.write_text("earlier")
    process = subprocess.Popen([program.path, *map(str, arguments), "-o", output], stderr=subprocess.PIPE, text=True)
    reader = reader_of(process)
    time.sleep(0.3)
    os.kill(reader, sent)
    _, messages = process.communicate(timeout=30)
    what = "the process that read it was killed" if sent == signal.SIGKILL else "it made fxtrace crash"
    assert process.returncode == 3
    assert messages.startswith(f"fxtrace: error: {arguments[1]}: {what} ({sent.name})") and messages.count("\n") == 1
    assert output.read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.pt", "out.json"]


def test_time(program, tmp_path):
    arguments = endless(tmp_path)
    done = run(program, *arguments, "--max-time", "1")
    assert done.returncode == 3
    assert done.stderr == (
        f"fxtrace: error: {arguments[1]}: it needed more than 1 s of processor time\n"
        "hint: --max-time SECONDS allows more\n"
    )


@pytest.fixture(scope="module")
def large_models(tmp_path_factory):
    """Of some thousand nodes: more than any allocator has at hand."""
    folder = tmp_path_factory.mktemp("large")
    code = "class Net(Module):\n  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n"
    code += "    x0 = x\n" + "".join(f"    x{i + 1} = torch.relu(x{i})\n" for i in range(4000)) + "    return x4000\n"
    (folder / "net.pt").write_bytes(hostile.code_case(code)())
    names = ["x", *(f"x{i}" for i in range(4000))]
    nodes = [hostile_exported.relu(given, made) for given, made in itertools.pairwise(names)]
    (folder / "net.pt2").write_bytes(hostile_exported.packed(json.dumps(hostile_exported.program(nodes))))
    return folder


def test_memory(program, large_models):
    model = large_models / "net.pt"
    done = run(program, "trace", model, "--max-memory", "1")
    assert done.returncode == 3
    assert done.stderr == (
        f"fxtrace: error: {model}: it needed more than 1 MiB of memory\n"
        "hint: --max-memory MB allows more\n"
    )
    assert run(program, "trace", model, "--max-memory", "0", "--max-time", "0").returncode == 0


@pytest.mark.parametrize("name", ["net.pt", "net.pt2"])
@pytest.mark.parametrize("command", ["trace", "inspect"])
def test_little_memory_is_never_a_property_of_the_model(program, large_models, name, command):
    """From too little to enough: the same bytes, or the same line."""
    model = large_models / name
    expected = run(program, command, model)
    codes = []
    for megabytes in (1, 4, 8, 12, 16, 24, 32, 64, 200):
        done = run(program, command, model, "--max-memory", megabytes)
        codes.append(done.returncode)
        if done.returncode == 0:
            assert (done.stdout, done.stderr) == (expected.stdout, expected.stderr), megabytes
            continue
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr == (
            f"fxtrace: error: {model}: it needed more than {megabytes} MiB of memory\n"
            "hint: --max-memory MB allows more\n"
        )
    assert (codes[0], codes[-1]) == (3, 0)
    if name == "net.pt":  # a reader of JSON that is slower takes over where the fast one has too little
        assert codes == sorted(codes, reverse=True)


@pytest.mark.parametrize("where", ["file", "stdout"])
def test_output_without_an_end(program, tmp_path, where):
    """A name that the code has once stands in the output a thousand times."""
    name = "n" * 200_000
    code = f"class Net(Module):\n  def forward(self: __torch__.Net,\n    {name}: Tensor) -> Tensor:\n"
    code += f"    x = {name}\n    y = x\n" + "    y = torch.add(x, y)\n" * 500 + "    return y\n"
    model, output = tmp_path / "model.pt", tmp_path / "out.json"
    model.write_bytes(hostile.code_case(code)())
    output.write_text("earlier")
    done = run(program, "trace", model, "--max-memory", "80", "-o", output if where == "file" else "-")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        f"fxtrace: error: {model}: its output is larger than 80 MiB\nhint: --max-memory MB allows more\n"
    )
    assert output.read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.pt", "out.json"]


def test_messages_go_to_a_large_log(program, tmp_path):
    """The limit of the output is none of a file that stderr is appended to."""
    log = tmp_path / "log"
    with open(log, "wb") as file:
        file.truncate(300 << 20)
    with open(log, "ab") as file:
        model = ROOT / "sample_models" / SAMPLES[2]
        done = subprocess.run(
            [program.path, "trace", model, "-v", "--max-memory", "200"], stdout=subprocess.PIPE, stderr=file, timeout=60
        )
    assert done.returncode == 0 and log.stat().st_size > 300 << 20


@pytest.mark.parametrize("sample", (SAMPLES[0], SAMPLES[2]))
def test_file_that_gets_too_large(program, tmp_path, sample):
    model, output = ROOT / "sample_models" / sample, tmp_path / "out.json"
    output.write_text("earlier")
    command = 'ulimit -f 1; exec "$0" trace "$1" --no-default-leaves -o "$2"'
    done = subprocess.run(
        ["bash", "-c", command, program.path, model, output], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3
    assert done.stderr == f"fxtrace: error: {output}: cannot write the file: File too large\nhint: a larger `ulimit -f` allows more\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"] and output.read_text() == "earlier"


@pytest.mark.parametrize("extra", [[], ["--no-isolation"]])
def test_file_that_is_cut_short_while_it_is_read(program, tmp_path, extra):
    """Python's source is looked for when the first operation is recorded; without it the rest is as it would be."""
    model, output = tmp_path / "model.pt", tmp_path / "out.json"
    records = hostile.records_of(hostile.FORWARD + "".join(f"    {line}\n" for line in loop("torch.lt(n, 400000)").splitlines()))
    records["code/__torch__.py.debug_pkl"] = hostile.PROTO + hostile.tuple_of() + hostile.STOP
    codes = []
    for delay in (0, 0.02, 0.2):
        model.write_bytes(hostile.archive(records))
        output.write_text("earlier")
        with subprocess.Popen(
            [program.path, "trace", model, "-o", output, "--max-iterations", "1000000", *extra], stderr=subprocess.PIPE, text=True
        ) as process:
            time.sleep(delay)
            os.truncate(model, 100)
            messages = process.communicate(timeout=60)[1]
        codes.append(process.returncode)
        assert process.returncode == 0 or re.match(f"fxtrace: error: {model}: this is (a damaged zip|the beginning of a)", messages)
        assert (output.read_text() == "earlier") == (process.returncode == 3)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["model.pt", "out.json"]
    assert set(codes) <= {0, 3} and codes[-1] == 0


LIMITS = {
    # From where glibc's loader itself gets along, which ends a program with its own words.
    "v": (resource.RLIMIT_AS, [40 << 20, 100 << 20, 300 << 20, 400 << 20, 600 << 20, 2 << 30]),
    "d": (resource.RLIMIT_DATA, [4 << 20, 20 << 20, 60 << 20, 100 << 20]),
    "n": (resource.RLIMIT_NOFILE, [4, 5, 6, 20]),
    "s": (resource.RLIMIT_STACK, [128 << 10, 256 << 10, 600 << 10, 1 << 20]),
    "f": (resource.RLIMIT_FSIZE, [0, 1024, 4096, 1 << 20]),
    "t": (resource.RLIMIT_CPU, [1]),
}
REASONS = {
    "v": "it needed more memory than `ulimit -v` allows (",
    "d": "it needed more memory than `ulimit -d` allows (",
    "n": "hint: a larger `ulimit -n` allows more\n",
    "s": "hint: start fxtrace with a larger `ulimit -s`\n",
    "f": "cannot write the file: File too large\nhint: a larger `ulimit -f` allows more\n",
    "t": "it needed more processor time than `ulimit -t` allows (1 s)",
}


@pytest.mark.parametrize("flag", LIMITS)
@pytest.mark.parametrize("job", ["trace torchscript", "inspect torchscript", "trace exported", "render", "to stdout"])
def test_limits_of_the_caller(program, tmp_path, flag, job):
    """Either nothing is amiss, or one line says which limit it was."""
    folder = tmp_path / "folder"
    folder.mkdir()
    model = ROOT / "sample_models" / SAMPLES[2 if "exported" in job or job == "to stdout" else 0]
    if job == "render":
        assert run(program, "trace", model, "-o", tmp_path / "saved.json").returncode == 0
        model = tmp_path / "saved.json"
    arguments = [job.split()[0] if job != "to stdout" else "trace", model]
    expected = run(program, *arguments).stdout
    output = folder / "out.json"
    if job not in ("inspect torchscript", "to stdout"):
        arguments += ["-o", output]
    kind, values = LIMITS[flag]
    done = None
    for value in values:

        def limit(value=value):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(kind, (value, value))

        output.write_text("earlier")
        done = run(program, *arguments, preexec_fn=limit)
        assert [path.name for path in folder.iterdir()] == ["out.json"], value
        if done.returncode == 0:
            assert done.stderr == ""
            assert (output.read_text() if "-o" in arguments else done.stdout) == expected, value
            continue
        assert (done.returncode, done.stdout) == (3, ""), (value, done.stderr)
        assert REASONS[flag] in done.stderr, value
        assert done.stderr.count("fxtrace: error: ") == 1
        assert output.read_text() == "earlier"
    assert done.returncode == 0  # with the largest


def test_processor_time_of_the_caller(program, tmp_path):
    done = run(program, *endless(tmp_path), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (1, 5)))
    assert done.returncode == 3 and REASONS["t"] in done.stderr


def test_caller_that_ignores_children(program):
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    assert run(program, "trace", ROOT / "sample_models" / SAMPLES[2], preexec_fn=ignore).returncode == 0


def test_output_to_descriptors(program, tmp_path):
    model = ROOT / "sample_models" / SAMPLES[2]
    expected = run(program, "trace", model).stdout
    command = '"$0" trace "$1" -o /dev/stdout; "$0" trace "$1" -o /dev/fd/3 3>"$2"; "$0" trace - <"$1" | tail -1'
    done = subprocess.run(
        ["bash", "-c", command, program.path, model, tmp_path / "three"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == expected + expected.splitlines(keepends=True)[-1]
    assert (tmp_path / "three").read_text() == expected


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL])
def test_end_of_the_program_ends_the_reading(program, tmp_path, sent):
    arguments, output = endless(tmp_path), tmp_path / "out.json"
    output.write_text("earlier")
    process = subprocess.Popen(
        [program.path, *map(str, arguments), "-o", output],
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    reader = reader_of(process)
    time.sleep(0.3)
    process.send_signal(sent)
    assert process.wait(30) == -sent
    end = time.monotonic() + 30
    while is_running(reader) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_running(reader)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.pt", "out.json"]
    assert output.read_text() == "earlier"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGQUIT])
def test_signal_to_the_whole_group(program, tmp_path, sent):
    """As a terminal sends it: to program and child."""
    process = subprocess.Popen(
        [program.path, *map(str, endless(tmp_path))],
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    time.sleep(1)
    os.killpg(process.pid, sent)
    _, messages = process.communicate(timeout=30)
    assert (process.returncode, messages) == (-sent, b"")


def test_signals_that_the_caller_ignores(program, tmp_path):
    def ignore():
        for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(ignored, signal.SIG_IGN)

    process = subprocess.Popen(
        [program.path, *map(str, endless(tmp_path)), "--max-time", "2"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=ignore,
    )
    time.sleep(1)
    for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        os.killpg(process.pid, ignored)
    _, messages = process.communicate(timeout=30)
    assert process.returncode == 3 and "2 s of processor time" in messages


def is_running(process: int) -> bool:
    try:
        return ") Z " not in pathlib.Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


WARNING = " is not available here, so the sandbox that reads the model is weaker"


@pytest.mark.parametrize(
    "missing, code, text",
    [
        (["landlock_create_ruleset:error=ENOSYS"], 0, f"isolation: Landlock{WARNING}"),
        (["seccomp:error=EINVAL"], 0, f"isolation: seccomp{WARNING}"),
        (["landlock_create_ruleset:error=ENOSYS", "seccomp:error=EINVAL"], 3, "neither seccomp nor Landlock"),
        (["close_range:error=ENOSYS"], 0, ""),
        (["pidfd_open:error=ENOSYS"], 0, ""),
    ],
)
def test_kernels_that_have_less(program, tmp_path, missing, code, text):
    """No lock at all is an error, one lock a warning; what only helps is done in another way."""
    inject = [part for name in missing for part in ("-e", f"inject={name}")]
    trace = ["strace", "-f", "-o", tmp_path / "calls", *inject, program.path, "trace", ROOT / "sample_models" / SAMPLES[2]]
    done = subprocess.run(trace, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    assert text in done.stderr and done.stderr.count("\n") == (0 if not text else 1 if code == 0 else 2)
    assert ("--no-isolation" in done.stderr) == (code == 3)


@pytest.mark.parametrize("missing", [[], ["landlock_create_ruleset"], ["seccomp"]])
def test_version_tells_the_walls(program, tmp_path, missing):
    inject = [part for name in missing for part in ("-e", f"inject={name}:error=ENOSYS")]
    tell = ["strace", "-f", "-o", tmp_path / "calls", *inject, program.path, "--version", "--json"]
    said = json.loads(subprocess.run(tell, capture_output=True, text=True, timeout=60, check=True).stdout)
    jsonschema_rs.Draft202012Validator(json.loads((ROOT / "schemas" / "version.schema.json").read_text())).validate(said)
    assert said["walls"] == {"landlock": missing != ["landlock_create_ruleset"], "seccomp": missing != ["seccomp"]}
    assert run(program, "--version").stdout == f"fxtrace {said['version']}\n"
    assert json.loads(run(program, "--json", "-V").stdout)["plugins"] == said["plugins"]


def test_nothing_is_read_before_the_last_lock(program, tmp_path):
    """What kind of file it is, too, is found out by a process that can open nothing."""
    calls = tmp_path / "calls"
    model = ROOT / "sample_models" / SAMPLES[0]
    looks = ["strace", "-f", "-y", "-e", "trace=seccomp,landlock_restrict_self,read,pread64,openat", "-o", calls]
    assert subprocess.run([*looks, program.path, "inspect", model], stdout=subprocess.DEVNULL, timeout=60).returncode == 0
    lines = calls.read_text().splitlines()
    reads = [i for i, line in enumerate(lines) if re.search(rf"read(64)?\(\d+<{re.escape(str(model))}>", line)]
    locks = [i for i, line in enumerate(lines) if re.search(r"SECCOMP_SET_MODE_FILTER.*len=", line)]
    assert len(locks) == 1 and reads and locks[0] < reads[0]
    assert not [line for line in lines[locks[0] :] if "openat(" in line and " = -1 " not in line]


def test_descriptors_and_the_clock_without_help_of_the_kernel(program, tmp_path):
    calls = tmp_path / "calls"
    inject = ("-e", "inject=close_range:error=ENOSYS", "-e", "inject=pidfd_open:error=ENOSYS")
    secret = os.open(ROOT / "README.md", os.O_RDONLY)
    model = ROOT / "sample_models" / SAMPLES[2]
    done = subprocess.run(
        ["strace", "-f", "-e", "trace=close,close_range,pidfd_open", "-o", calls, *inject, program.path, "trace", model],
        pass_fds=(secret,),
        stdout=subprocess.DEVNULL,
        timeout=60,
    )
    os.close(secret)
    assert done.returncode == 0
    assert re.search(rf"close\({secret}\) += 0", calls.read_text())


LIBRARY = r"""
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void* nothing_to_do(void* data) { return data; }
static int maps(int flags) {
  return mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0) != MAP_FAILED;
}
static void tell(const char* what, int worked) { fprintf(stderr, "%s %s\n", what, worked ? "worked" : "failed"); }

__attribute__((constructor)) static void attack(void) {
  tell("write", open(FOLDER "/written", O_CREAT | O_WRONLY, 0600) >= 0);
  tell("truncate", open(FOLDER "/precious", O_WRONLY | O_TRUNC) >= 0);
  tell("unlink", unlink(FOLDER "/precious") == 0);
  tell("rename", rename(FOLDER "/precious", FOLDER "/other") == 0);
  tell("mkdir", mkdir(FOLDER "/folder", 0700) == 0);
  tell("socket", socket(AF_INET, SOCK_STREAM, 0) >= 0);
  tell("unix", socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
  tell("signal", kill(getppid(), SIGKILL) == 0);
  pid_t child = fork();
  tell("fork", child >= 0);
  if (child == 0) _exit(0);
  char* nothing[] = {"/bin/true", NULL};
  execv("/bin/true", nothing);
  tell("exec", 0);
  pthread_t thread;
  tell("thread", pthread_create(&thread, NULL, nothing_to_do, NULL) == 0);
  tell("shared", maps(MAP_SHARED));
  tell("growing", maps(MAP_PRIVATE | MAP_GROWSDOWN));
  char byte;
  tell("terminal", read(2, &byte, 1) >= 0);
  tell("log", lseek(2, 0, SEEK_SET) >= 0);
  fprintf(stderr, "\033]0;title\007 failed\n");
  tell("read", open(FOLDER "/precious", O_RDONLY) >= 0);
}
"""


def test_library_that_attacks(program, tmp_path):
    """Code that does run: --op-library."""
    if "seccomp is not available" in run(program, "trace", ROOT / "sample_models" / SAMPLES[2], "-v").stderr:
        pytest.skip("this kernel or container has no seccomp")
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "attack.c").write_text("#include <sys/stat.h>\n" + LIBRARY)
    library = tmp_path / "attack.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", f'-DFOLDER="{tmp_path}"', "-o", library, tmp_path / "attack.c"], check=True
    )
    before = sorted(path.name for path in tmp_path.iterdir())
    done = run(program, "trace", ROOT / "sample_models" / SAMPLES[0], "--op-library", library)
    assert done.returncode == 0
    attempts = dict(line.split() for line in done.stderr.splitlines())
    assert attempts.pop("read") == "worked"  # as loading a library needs it
    assert set(attempts.values()) == {"failed"}, attempts
    assert len(attempts) == 16
    assert "\\x1b]0;title\\x07" in attempts  # what it says is only text
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (tmp_path / "precious").read_text() == "precious"
