"""Tests a unity build, in which files share the names of their private functions."""

import pathlib
import subprocess

import harness

OF_A = """
namespace {
struct Row {
  int size = 1;
};
int size(int) { return Row().size; }
int only_a() { return 10; }
}  // namespace
int a() { return size(0) + only_a(); }
"""
# In one batch with the other, size(0) would be the other's.
OF_B = """
namespace {
struct Row {
  long size = 2;
};
constexpr int kOnlyB = 0;
int size(long) { return static_cast<int>(Row().size) + kOnlyB; }
}  // namespace
int b() { return size(0); }
"""
OF_C = """
namespace {
using Row = int;
int only_c() { return 100; }
}  // namespace
int c() { return only_c() + Row(); }
"""
# In one batch with the second, its constant would hide the other's.
OF_D = """
int d() {
  constexpr int kOnlyB = 0;
  return kOnlyB;
}
"""
OF_MAIN = "int a();\nint b();\nint c();\nint main() { return a() == 11 && b() == 2 && c() == 100 ? 0 : 1; }\n"
PROJECT = f"""
cmake_minimum_required(VERSION 3.22)
project(names LANGUAGES CXX)
set(FXTRACE_CCACHE OFF)
include({harness.ROOT}/cmake/CompilerSettings.cmake)
add_executable(names main.cpp a.cpp b.cpp c.cpp d.cpp)
fxtrace_settings(names)
"""


def test_private_names_are_free(tmp_path: pathlib.Path):
    """Files that have some in common are in different batches, of at most as many as fit, and each calls its own."""
    files = {"main.cpp": OF_MAIN, "a.cpp": OF_A, "b.cpp": OF_B, "c.cpp": OF_C, "d.cpp": OF_D, "CMakeLists.txt": PROJECT}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    work = tmp_path / "build"
    options = ["-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=2", "-DFXTRACE_WERROR=ON"]
    for command in (["cmake", "-G", "Ninja", "-S", tmp_path, "-B", work, *options], ["cmake", "--build", work], [work / "names"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    found = [[name for name in files if f"/{name}" in path.read_text()] for path in sorted(work.glob("**/unity_*.cxx"))]
    assert found == [["main.cpp", "a.cpp"], ["b.cpp"], ["c.cpp", "d.cpp"]]
