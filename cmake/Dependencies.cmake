# The libraries that fxtrace uses, all from the system's packages except LibTorch.

find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(simdjson CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)

# Debian's CMake config of libzip insists on the zip tools, which nobody needs here.
find_package(PkgConfig REQUIRED)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET GLOBAL libzip)
add_library(fxtrace::libzip ALIAS PkgConfig::libzip)
pkg_check_modules(libseccomp REQUIRED IMPORTED_TARGET GLOBAL libseccomp)
add_library(fxtrace::libseccomp ALIAS PkgConfig::libseccomp)

if(FXTRACE_EXECUTE)  # AUTO too
  include(LibTorch)
endif()

if(FXTRACE_TESTS)
  find_package(Catch2 CONFIG REQUIRED)  # 2 or 3
endif()
