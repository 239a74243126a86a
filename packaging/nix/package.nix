# As packages are called in nixpkgs: pkgs.callPackage ./package.nix { }.  scripts/release writes version and checksum, and OWNER is who
# publishes the release.
{
  lib,
  stdenv,
  fetchurl,
  cli11,
  cmake,
  fmt,
  jemalloc,
  libseccomp,
  ninja,
  pkg-config,
  simdjson,
  spdlog,
  sqlite,
  zlib,
}:

stdenv.mkDerivation (finalAttrs: {
  pname = "fxtrace";
  version = "@VERSION@";

  src = fetchurl {
    url = "https://github.com/OWNER/fxtrace/releases/download/v${finalAttrs.version}/fxtrace-${finalAttrs.version}.tar.gz";
    sha256 = "@SHA256@";
  };

  nativeBuildInputs = [
    cmake
    ninja
    pkg-config
  ];
  buildInputs = [
    cli11
    fmt
    jemalloc
    libseccomp
    simdjson
    spdlog
    sqlite
    zlib
  ];

  cmakeFlags = [
    "-DFXTRACE_TESTS=OFF"
    "-DFXTRACE_EXECUTE=OFF"
    "-DFXTRACE_CCACHE=OFF"
  ];

  doInstallCheck = true;
  installCheckPhase = ''
    $out/bin/fxtrace --version | grep -F ${finalAttrs.version}
  '';

  meta = {
    description = "Graphs of PyTorch model files in the form of torch.fx, without Python";
    homepage = "https://github.com/OWNER/fxtrace";
    license = lib.licenses.asl20;
    mainProgram = "fxtrace";
    platforms = lib.platforms.linux; # the sandbox is Linux's
  };
})
