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

# The program's allocator, if it is there: a graph is millions of small objects, and tracing a large one takes half as long with
# it.  Linked statically, so that nothing has to be installed where the program runs.  Sanitizers have their own.
if(FXTRACE_JEMALLOC AND NOT FXTRACE_SANITIZE)
  find_library(JEMALLOC_LIBRARY NAMES libjemalloc_pic.a)
  mark_as_advanced(JEMALLOC_LIBRARY)
  if(NOT JEMALLOC_LIBRARY)
    message(STATUS "No static jemalloc: the program uses the allocator of the C library, which is slower")
  endif()
endif()

if(FXTRACE_EXECUTE)  # AUTO too
  include(LibTorch)
endif()

if(FXTRACE_TESTS)
  find_package(Catch2 CONFIG REQUIRED)  # 2 or 3
endif()
