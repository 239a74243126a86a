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

# A unity build needs Python, which looks for private names.
if(CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 16 CACHE STRING "The most files that a unity build compiles together")
  find_package(Python3 COMPONENTS Interpreter)
  if(NOT Python3_FOUND)
    message(STATUS "No Python: each file is compiled by itself, which takes twice as long")
    set(CMAKE_UNITY_BUILD OFF)
  endif()
endif()

# Puts sources of a unity build that have private names in common into different batches, so that these names are free.  What
# the names are is looked up when CMake configures: a unity build is for whoever builds once.
function(fxtrace_unity_batches target)
  get_target_property(_is_unity ${target} UNITY_BUILD)
  if(NOT _is_unity)
    return()
  endif()
  get_target_property(_folder ${target} SOURCE_DIR)
  get_target_property(_names ${target} SOURCES)
  set(_sources)
  foreach(_name IN LISTS _names)
    cmake_path(ABSOLUTE_PATH _name BASE_DIRECTORY ${_folder})
    list(APPEND _sources ${_name})
  endforeach()
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/unity_batches.py ${CMAKE_UNITY_BUILD_BATCH_SIZE} ${_sources}
                  OUTPUT_VARIABLE _batches OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  foreach(_source _batch IN ZIP_LISTS _sources _batches)
    set_source_files_properties(${_source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${_batch})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

function(fxtrace_settings target)
  fxtrace_unity_batches(${target})
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
  target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now)
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
  foreach(_source IN LISTS arg_EXCLUDE)
    list(REMOVE_ITEM _sources ${_source})
  endforeach()
  add_library(fxtrace_${name} STATIC ${_sources} ${arg_SOURCES})
  add_library(fxtrace::${name} ALIAS fxtrace_${name})
  target_include_directories(fxtrace_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/lib ${PROJECT_SOURCE_DIR}/include)
  target_compile_features(fxtrace_${name} PUBLIC cxx_std_20)
  target_link_libraries(fxtrace_${name} PUBLIC ${arg_LIBRARIES})
endfunction()
