# Where things go in a Python wheel, and the libraries that go with them; see pyproject.toml.

set(CMAKE_INSTALL_BINDIR ${SKBUILD_SCRIPTS_DIR})
set(CMAKE_INSTALL_LIBDIR ${SKBUILD_DATA_DIR}/lib)
set(CMAKE_INSTALL_DATADIR ${SKBUILD_DATA_DIR}/share)
set(CMAKE_INSTALL_DATAROOTDIR ${SKBUILD_DATA_DIR}/share)
set(CMAKE_INSTALL_MANDIR ${SKBUILD_DATA_DIR}/share/man)

# pip puts data beside the scripts.  An RPATH, not a RUNPATH: it holds for what these libraries need as well.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib/fxtrace")
add_link_options(-Wl,--disable-new-dtags)

# What the program needs of the system besides the libraries of C and C++, so that a machine needs nothing else.
function(fxtrace_bundle_libraries program library)
  install(CODE "
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES \"${program}\" LIBRARIES \"${library}\" RESOLVED_DEPENDENCIES_VAR libraries
         PRE_EXCLUDE_REGEXES \"^ld-linux\" \"^lib(c|m|dl|rt|pthread|stdc[+][+]|gcc_s)[.]so\")
    foreach(library IN LISTS libraries)
      get_filename_component(name \${library} NAME)
      file(REAL_PATH \${library} content)  # a wheel has no links
      file(INSTALL \${content} DESTINATION \"${FXTRACE_INSTALL_PLUGINDIR}\" RENAME \${name})
    endforeach()
  " COMPONENT Runtime)
endfunction()
