# The package that find_package(fxtrace) finds.  What is installed besides stands where it is built.  Components:
# Runtime (the program and the plugin), Development (libraries and headers), BuiltWith (see lib/execute).
if(TARGET fxtrace_whole)
  include(CMakePackageConfigHelpers)

  set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/fxtrace)
  install(EXPORT fxtraceTargets NAMESPACE fxtrace:: DESTINATION ${_package} COMPONENT Development)
  configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/fxtraceConfig.cmake.in ${PROJECT_BINARY_DIR}/fxtraceConfig.cmake
    INSTALL_DESTINATION ${_package} PATH_VARS FXTRACE_INSTALL_PLUGINDIR NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  # Before 1.0 a minor version may change anything.
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/fxtraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/fxtraceConfig.cmake ${PROJECT_BINARY_DIR}/fxtraceConfigVersion.cmake
          DESTINATION ${_package} COMPONENT Development)
endif()

# Licences of what is in the program, those of libraries as Debian's packages tell them; a release has those that it was built of.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fxtrace COMPONENT Runtime)
if(FXTRACE_LICENCES)
  install(DIRECTORY ${FXTRACE_LICENCES}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fxtrace/licences COMPONENT Runtime)
else()
  foreach(_library libcli11-dev=CLI11 libfmt-dev=fmt libjemalloc-dev=jemalloc libseccomp-dev=libseccomp
                   libsimdjson-dev=simdjson libspdlog-dev=spdlog libsqlite3-dev=SQLite zlib1g-dev=zlib)
    string(REPLACE "=" ";" _library ${_library})
    list(GET _library 0 _package)
    list(GET _library 1 _name)
    install(FILES /usr/share/doc/${_package}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fxtrace/licences
            RENAME ${_name}.txt COMPONENT Runtime OPTIONAL)
  endforeach()
  install(FILES /usr/share/common-licenses/LGPL-2.1 DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fxtrace/licences
          RENAME LGPL-2.1.txt COMPONENT Runtime OPTIONAL)
endif()
if(FXTRACE_PLUGINS)
  install(DIRECTORY ${FXTRACE_PLUGINS}/ DESTINATION ${FXTRACE_INSTALL_PLUGINDIR} COMPONENT Runtime USE_SOURCE_PERMISSIONS)
endif()
