# `cpack -G DEB` in a build folder of the preset release: a package for the distribution that it is built on.  The
# program and, if it was built, the plugin for --op-library, which needs a LibTorch of the system (docs/how-to/installing.md).
set(CPACK_PACKAGE_NAME fxtrace)
set(CPACK_PACKAGE_CONTACT "fxtrace maintainers <maintainers@fxtrace.example>" CACHE STRING "Who packages, as NAME <ADDRESS>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trace PyTorch models into torch.fx graphs")
set(CPACK_PACKAGE_DESCRIPTION
"fxtrace reads exported programs (torch.export) and TorchScript archives and
writes them as torch.fx graphs, in JSON, DOT or text, without Python and
without the model's source code. It shows what a model is and what it costs.")
if(TARGET fxtrace_execute OR FXTRACE_PLUGINS)
  string(APPEND CPACK_PACKAGE_DESCRIPTION "
.
Only --op-library needs LibTorch, which is not in this package: pip install
torch, and let FXTRACE_LIBTORCH name its folder.")
endif()
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
if(NOT CMAKE_CROSSCOMPILING)  # what is built for others is linked without symbols
  set(CPACK_STRIP_FILES ON)
endif()
set(CPACK_COMPONENTS_ALL Runtime)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/deb/finish.cmake)
set(CPACK_FXTRACE_PACKAGING ${PROJECT_SOURCE_DIR}/packaging/deb)  # for that script

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS graphviz)
if(CMAKE_CROSSCOMPILING)  # linked statically to everything but glibc (packaging/release)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${FXTRACE_DEBIAN_ARCHITECTURE})
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= ${FXTRACE_GLIBC})")
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
if(TARGET fxtrace_execute)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${FXTRACE_TORCH_ROOT}/lib)  # in no package, so nothing depends on it
endif()
include(CPack)
