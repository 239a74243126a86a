# A formula for a tap of Homebrew; scripts/release writes version and checksum, and OWNER is who publishes the release.
class Fxtrace < Formula
  desc "Graphs of PyTorch model files in the form of torch.fx, without Python"
  homepage "https://github.com/OWNER/fxtrace"
  url "https://github.com/OWNER/fxtrace/releases/download/v@VERSION@/fxtrace-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "fmt"
  depends_on "libseccomp"
  depends_on :linux # the sandbox is Linux's
  depends_on "simdjson"
  depends_on "spdlog"
  depends_on "sqlite"
  depends_on "zlib"

  def install
    system "cmake", "-G", "Ninja", "-S", ".", "-B", "build", "-DFXTRACE_TESTS=OFF", "-DFXTRACE_EXECUTE=OFF",
           "-DFXTRACE_CCACHE=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build", "--component", "Runtime"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/fxtrace --version")
    (testpath/"none.pt").write "no model"
    assert_match "none.pt", shell_output("#{bin}/fxtrace none.pt 2>&1", 3)
  end
end
