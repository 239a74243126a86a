# Finds LibTorch and defines fxtrace::libtorch: headers, libtorch_cpu and libc10, nothing else.
#
# It is looked for in CMAKE_PREFIX_PATH (variable or environment), then in the torch that FXTRACE_PYTHON, the Python that
# makes a wheel or python3 imports.  LibTorch's own find_package(Torch) is not used: for a CUDA build it stops when the
# machine has no CUDA toolkit, which nothing here needs, and it links libraries that nothing here calls.

if(NOT EXISTS "${FXTRACE_TORCH_CONFIG}")
  unset(FXTRACE_TORCH_CONFIG CACHE)
endif()
find_file(FXTRACE_TORCH_CONFIG TorchConfig.cmake
          PATH_SUFFIXES Torch cmake/Torch share/cmake/Torch
          NO_CACHE)

if(NOT FXTRACE_TORCH_CONFIG)
  set(_python ${FXTRACE_PYTHON})
  if(NOT _python AND SKBUILD)
    set(_python ${Python3_EXECUTABLE} -E)  # pip hides the packages of its own Python by PYTHONPATH
  elseif(NOT _python)
    set(_python python3)
  endif()
  # find_spec does not run torch's own start-up, which takes seconds.
  execute_process(
    COMMAND ${_python} -c "import importlib.util as u, os; s = u.find_spec('torch'); print(os.path.dirname(s.origin))"
    OUTPUT_VARIABLE _torch_root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE _python_failed)
  if(NOT _python_failed AND EXISTS ${_torch_root}/share/cmake/Torch/TorchConfig.cmake)
    set(FXTRACE_TORCH_CONFIG ${_torch_root}/share/cmake/Torch/TorchConfig.cmake)
  endif()
endif()
if(FXTRACE_TORCH_CONFIG AND NOT SKBUILD)  # wheels for other Pythons are made in the same folder
  set(FXTRACE_TORCH_CONFIG ${FXTRACE_TORCH_CONFIG} CACHE FILEPATH "TorchConfig.cmake of the LibTorch to use")
  mark_as_advanced(FXTRACE_TORCH_CONFIG)
endif()

if(NOT FXTRACE_TORCH_CONFIG AND FXTRACE_EXECUTE STREQUAL "AUTO")
  message(STATUS "LibTorch is not there, so fxtrace is built without verify and --op-library")
  return()
endif()
if(NOT FXTRACE_TORCH_CONFIG)
  message(FATAL_ERROR
    "LibTorch is in none of CMAKE_PREFIX_PATH and python3's packages.  scripts/setup --libtorch installs it into the "
    "build folder; or: python3 -m pip install torch==2.13.0")
endif()

get_filename_component(FXTRACE_TORCH_ROOT ${FXTRACE_TORCH_CONFIG}/../../../.. ABSOLUTE)
include(${FXTRACE_TORCH_ROOT}/share/cmake/Torch/TorchConfigVersion.cmake)  # sets PACKAGE_VERSION
set(FXTRACE_TORCH_VERSION ${PACKAGE_VERSION})
unset(PACKAGE_VERSION)
message(STATUS "LibTorch ${FXTRACE_TORCH_VERSION}: ${FXTRACE_TORCH_ROOT}")
if(NOT FXTRACE_TORCH_VERSION MATCHES "^2\\.1[0-5]\\.")
  set(_tested "fxtrace is tested with LibTorch 2.10 to 2.15, and this is ${FXTRACE_TORCH_VERSION}")
  if(FXTRACE_EXECUTE STREQUAL "AUTO")
    message(STATUS "${_tested}: fxtrace is built without the plugin; FXTRACE_EXECUTE=ON tries")
    return()
  endif()
  message(WARNING "${_tested}; FXTRACE_EXECUTE=OFF leaves it out")
endif()

foreach(_library c10 torch_cpu)
  set(_file ${FXTRACE_TORCH_ROOT}/lib/lib${_library}.so)
  if(NOT EXISTS ${_file})
    message(FATAL_ERROR "This LibTorch is not complete: ${_file} is missing")
  endif()
  add_library(fxtrace_${_library} SHARED IMPORTED GLOBAL)
  set_target_properties(fxtrace_${_library} PROPERTIES IMPORTED_LOCATION ${_file})
endforeach()

add_library(fxtrace_libtorch INTERFACE IMPORTED GLOBAL)
add_library(fxtrace::libtorch ALIAS fxtrace_libtorch)
# Imported, so these are system headers: no warnings from them.
target_include_directories(fxtrace_libtorch INTERFACE
  ${FXTRACE_TORCH_ROOT}/include ${FXTRACE_TORCH_ROOT}/include/torch/csrc/api/include)
# Some headers differ with what LibTorch itself was compiled with.
file(STRINGS ${FXTRACE_TORCH_ROOT}/share/cmake/Caffe2/Caffe2Targets.cmake _line
     REGEX "INTERFACE_COMPILE_DEFINITIONS \"USE_" LIMIT_COUNT 1)
if(_line MATCHES "\"(.*)\"")
  target_compile_definitions(fxtrace_libtorch INTERFACE ${CMAKE_MATCH_1})
endif()
target_link_libraries(fxtrace_libtorch INTERFACE fxtrace_torch_cpu fxtrace_c10)
