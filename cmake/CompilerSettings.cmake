# Warnings, hardening, sanitizers and ccache.  fxtrace_settings(TARGET) applies all but the last to one of our own targets.

if(FXTRACE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(FXTRACE_CCACHE_PROGRAM ccache)
  mark_as_advanced(FXTRACE_CCACHE_PROGRAM)
  if(FXTRACE_CCACHE_PROGRAM)
    # Without this sloppiness, and -fpch-preprocess for g++, ccache declines files that use a precompiled header.
    # Without NOHASHDIR and BASEDIR it takes the same file in another checkout, or in the build folder of the wheel, for another.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1
                                    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${FXTRACE_CCACHE_PROGRAM})
  endif()
endif()

if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES ccache AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)
endif()

# Sources for other systems than the one that is built for.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(FXTRACE_OTHER_SYSTEMS system_macos.cpp process/lockdown_none.cpp)
else()
  set(FXTRACE_OTHER_SYSTEMS system_linux.cpp process/lockdown.cpp)
  set(FXTRACE_STAT_FIELDS st_mtim=st_mtimespec st_ctim=st_ctimespec)  # as POSIX names them
endif()

function(fxtrace_settings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow $<$<BOOL:${FXTRACE_WERROR}>:-Werror>)
  string(REPLACE "fxtrace_" "" _name ${target})
  if(_name IN_LIST FXTRACE_SMALL)
    target_compile_options(${target} PRIVATE -Os)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ finds these after inlining, often wrongly and in another way in every version: seen, but no error.
    target_compile_options(${target} PRIVATE
      -Wno-error=array-bounds -Wno-error=maybe-uninitialized -Wno-error=stringop-overflow -Wno-error=stringop-overread
      -Wno-error=restrict)
  endif()
  # Files of strangers are read: a mistake that they find ends the process (which app/ reports), and writes nothing.
  target_compile_options(${target} PRIVATE
    -fstack-protector-strong -D_GLIBCXX_ASSERTIONS
    $<$<CXX_COMPILER_ID:Clang>:-U_LIBCPP_HARDENING_MODE>
    $<$<CXX_COMPILER_ID:Clang>:-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_FAST>
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE>
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=2>)
  target_link_options(${target} PRIVATE $<$<PLATFORM_ID:Linux>:-Wl,-z,relro,-z,now>)
  if(FXTRACE_SANITIZE)
    # vptr asks whether it may read by calls that the locked process is refused, and needs type information that
    # LibTorch hides.
    target_compile_options(${target} PRIVATE -fsanitize=${FXTRACE_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${FXTRACE_SANITIZE})
  endif()
endfunction()

# The static libraries share one precompiled header, which the first of them makes that has no macros of other packages.
function(fxtrace_precompiled target)
  if(NOT FXTRACE_PCH OR target STREQUAL "fxtrace_support")
    return()
  elseif(target STREQUAL "fxtrace_symbolic")
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/standard_headers.h)
  else()
    target_precompile_headers(${target} REUSE_FROM fxtrace_symbolic)
  endif()
endfunction()

# fxtrace_library(NAME LIBRARIES fxtrace::support ... [SOURCES generated.cpp ...] [EXCLUDE a.cpp ...]): the static library
# fxtrace_NAME of all sources in this folder and below, with the alias fxtrace::NAME; users include its headers from the root of lib/.
function(fxtrace_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;EXCLUDE;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE _sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(_source IN LISTS arg_EXCLUDE FXTRACE_OTHER_SYSTEMS)
    list(REMOVE_ITEM _sources ${_source})
  endforeach()
  add_library(fxtrace_${name} STATIC ${_sources} ${arg_SOURCES})
  add_library(fxtrace::${name} ALIAS fxtrace_${name})
  target_include_directories(fxtrace_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/lib ${PROJECT_SOURCE_DIR}/include)
  target_compile_features(fxtrace_${name} PUBLIC cxx_std_20)
  target_link_libraries(fxtrace_${name} PUBLIC ${arg_LIBRARIES})
endfunction()
