# The libraries that fxtrace uses, all from the system's packages except LibTorch.

find_package(CLI11 CONFIG REQUIRED)
find_package(simdjson CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)

find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
# Catalogs of models.  Linked statically where that is there, so that no other command waits for it to be loaded.
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET GLOBAL sqlite3)
find_library(SQLITE3_ARCHIVE NAMES libsqlite3.a)
mark_as_advanced(SQLITE3_ARCHIVE)
add_library(fxtrace_sqlite3 INTERFACE)
if(SQLITE3_ARCHIVE)
  # The system's archive is not for shared libraries.
  target_link_libraries(fxtrace_sqlite3 INTERFACE
    $<IF:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,MODULE_LIBRARY>,PkgConfig::sqlite3,${SQLITE3_ARCHIVE}> m ${CMAKE_DL_LIBS})
  target_include_directories(fxtrace_sqlite3 SYSTEM INTERFACE ${sqlite3_INCLUDE_DIRS})
else()
  target_link_libraries(fxtrace_sqlite3 INTERFACE PkgConfig::sqlite3)
endif()
add_library(fxtrace::sqlite3 ALIAS fxtrace_sqlite3)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")  # elsewhere there is no sandbox
  pkg_check_modules(libseccomp REQUIRED IMPORTED_TARGET GLOBAL libseccomp)
  add_library(fxtrace::libseccomp ALIAS PkgConfig::libseccomp)
endif()

# The program's allocator, if it is there: a graph is millions of small objects, and tracing a large one takes half as long with
# it.  Linked statically, so that nothing has to be installed where the program runs.  Sanitizers have their own.
if(FXTRACE_JEMALLOC AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT FXTRACE_SANITIZE)
  find_library(JEMALLOC_LIBRARY NAMES libjemalloc_pic.a)
  mark_as_advanced(JEMALLOC_LIBRARY)
  if(NOT JEMALLOC_LIBRARY)
    message(STATUS "No static jemalloc: the program uses the allocator of the C library, which is slower")
  endif()
endif()

if(FXTRACE_EXECUTE AND CMAKE_SYSTEM_NAME STREQUAL "Linux")  # AUTO too
  include(LibTorch)
endif()

if(FXTRACE_TESTS OR FXTRACE_FUZZ OR FXTRACE_DAMAGE)
  find_package(nlohmann_json CONFIG REQUIRED)
endif()
if(FXTRACE_TESTS)
  find_package(Catch2 CONFIG REQUIRED)  # 2 or 3
  # Makes archives.  Debian's CMake config of libzip insists on the zip tools, which nobody needs here.
  pkg_check_modules(libzip REQUIRED IMPORTED_TARGET GLOBAL libzip)
  add_library(fxtrace::libzip ALIAS PkgConfig::libzip)
endif()
