# What Debian wants of a package and an installation from source does not: run by CPack when all is in its place.
file(GLOB _roots LIST_DIRECTORIES true ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/usr)
list(LENGTH _roots _count)
if(NOT _count EQUAL 1)
  message(FATAL_ERROR "expected one folder usr in ${CPACK_TEMPORARY_INSTALL_DIRECTORY}, found: ${_roots}")
endif()
set(_share ${_roots}/share)

function(gzip)
  execute_process(COMMAND gzip -9nf ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(GLOB _pages ${_share}/man/man1/*.1)
gzip(${_pages})

# Debian's zsh looks there.
file(RENAME ${_share}/zsh/site-functions ${_share}/zsh/vendor-completions)

set(_documents ${_share}/doc/fxtrace)
configure_file(${CPACK_FXTRACE_PACKAGING}/copyright ${_documents}/copyright COPYONLY)
set(_texts ${_documents}/copyright)
file(GLOB_RECURSE _plugin ${_roots}/lib*/libfxtrace_execute-*.so)
if(_plugin)
  list(APPEND _texts ${_share}/lintian/overrides/fxtrace)
  configure_file(${CPACK_FXTRACE_PACKAGING}/lintian-overrides ${_share}/lintian/overrides/fxtrace COPYONLY)
endif()
file(CHMOD ${_texts} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
string(TIMESTAMP _date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, if set
file(WRITE ${_documents}/changelog
"fxtrace (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${_date}
")
gzip(${_documents}/changelog)
