# fxtrace_web_page(OUTPUT): a C++ file that has the HTML picture's page: web/ bundled by esbuild, the layout library with
# its licence, and the page's content security policy.  The packages are those of web/package-lock.json;
# scripts/setup puts them into build/web.  Sources of a release have that file in web/, as scripts/release has made it.
set(FXTRACE_BUILT_PAGE ${PROJECT_SOURCE_DIR}/web/html_page.cpp)
set(FXTRACE_PAGE_LICENCE ${PROJECT_SOURCE_DIR}/web/elkjs-EPL-2.0.md)
if(EXISTS ${FXTRACE_BUILT_PAGE})
  install(FILES ${FXTRACE_PAGE_LICENCE} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fxtrace COMPONENT Runtime)
  function(fxtrace_web_page output)
    configure_file(${FXTRACE_BUILT_PAGE} ${output} COPYONLY)
  endfunction()
  return()
endif()

set(FXTRACE_WEB_PACKAGES ${PROJECT_SOURCE_DIR}/build/web/node_modules
    CACHE PATH "The folder node_modules that `npm ci` has made of web/package-lock.json")

file(GLOB FXTRACE_ESBUILD ${FXTRACE_WEB_PACKAGES}/@esbuild/*/bin/esbuild)
if(NOT FXTRACE_ESBUILD OR NOT EXISTS ${FXTRACE_WEB_PACKAGES}/elkjs/lib/elk-worker.min.js)
  message(FATAL_ERROR
    "The packages of web/package-lock.json are not in ${FXTRACE_WEB_PACKAGES}.  scripts/setup installs them; or: "
    "copy web/ to a folder, run `npm ci` there, and set FXTRACE_WEB_PACKAGES to its node_modules")
endif()

# The page has it too; this one is for whoever looks where licences are looked for.
install(FILES ${FXTRACE_WEB_PACKAGES}/elkjs/LICENSE.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fxtrace
        RENAME elkjs-EPL-2.0.md COMPONENT Runtime)

function(fxtrace_web_page output)
  set(_web ${PROJECT_SOURCE_DIR}/web)
  file(GLOB _sources CONFIGURE_DEPENDS ${_web}/src/*.js)
  set(_script ${CMAKE_CURRENT_BINARY_DIR}/page.js)
  set(_style ${CMAKE_CURRENT_BINARY_DIR}/page.css)
  set(_options --log-level=warning --minify --target=es2022 --charset=utf8)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${FXTRACE_WEB_PACKAGES}
            ${FXTRACE_ESBUILD} ${_web}/src/main.js --bundle --format=iife ${_options} --outfile=${_script}
    COMMAND ${FXTRACE_ESBUILD} ${_web}/style.css ${_options} --outfile=${_style}
    COMMAND ${CMAKE_COMMAND} -DTEMPLATE=${_web}/page.html -DSCRIPT=${_script} -DSTYLE=${_style}
            -DPACKAGES=${FXTRACE_WEB_PACKAGES} -DOUTPUT=${output} -P ${PROJECT_SOURCE_DIR}/cmake/MakeWebPage.cmake
    DEPENDS ${_sources} ${_web}/style.css ${_web}/page.html ${PROJECT_SOURCE_DIR}/cmake/MakeWebPage.cmake
            ${FXTRACE_WEB_PACKAGES}/elkjs/package.json
    COMMENT "Bundling the page of the HTML picture"
    VERBATIM)
endfunction()
