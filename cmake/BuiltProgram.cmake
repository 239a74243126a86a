# Installs a program that another build has made (FXTRACE_PROGRAM), with what it needs, as app/ and lib/ would.
include(WebPage)  # its licence
install(PROGRAMS ${FXTRACE_PROGRAM}/fxtrace DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT Runtime)
install(FILES ${FXTRACE_PROGRAM}/libfxtrace_trusted.so DESTINATION ${FXTRACE_INSTALL_PLUGINDIR} COMPONENT Runtime)
if(FXTRACE_DOCUMENTS)
  install(DIRECTORY ${FXTRACE_DOCUMENTS}/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT Runtime)
endif()
if(SKBUILD)
  fxtrace_bundle_libraries(${FXTRACE_PROGRAM}/fxtrace ${FXTRACE_PROGRAM}/libfxtrace_trusted.so)
endif()
