# Puts the page together: TEMPLATE with SCRIPT, STYLE and the packages' texts in it, as a C++ file OUTPUT.

function(read_text variable file)
  file(READ ${file} text)
  # In a script's text, data or not, these would end it or change how it is read.
  string(TOLOWER "${text}" lower)
  foreach(forbidden "</script" "</style" "<!--" ")fxtrace_page\"")
    string(FIND "${lower}" "${forbidden}" found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "${file} holds ${forbidden}")
    endif()
  endforeach()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# As a content security policy has it: 'sha256-' and base64.
function(csp_hash variable file)
  file(SHA256 ${file} hex)
  set(letters ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(text "")
  foreach(at RANGE 0 59 6)  # three bytes are four letters
    string(SUBSTRING ${hex} ${at} 6 bytes)
    foreach(shift 18 12 6 0)
      math(EXPR letter "(0x${bytes} >> ${shift}) & 63")
      string(SUBSTRING ${letters} ${letter} 1 letter)
      string(APPEND text ${letter})
    endforeach()
  endforeach()
  string(SUBSTRING ${hex} 60 4 bytes)  # the last two
  foreach(shift 10 4 -2)
    if(shift LESS 0)
      math(EXPR letter "(0x${bytes} << 2) & 63")
    else()
      math(EXPR letter "(0x${bytes} >> ${shift}) & 63")
    endif()
    string(SUBSTRING ${letters} ${letter} 1 letter)
    string(APPEND text ${letter})
  endforeach()
  set(${variable} "sha256-${text}=" PARENT_SCOPE)
endfunction()

file(READ ${TEMPLATE} page)
read_text(script ${SCRIPT})
read_text(style ${STYLE})
read_text(layout ${PACKAGES}/elkjs/lib/elk-worker.min.js)
read_text(licence ${PACKAGES}/elkjs/LICENSE.md)
file(READ ${PACKAGES}/elkjs/package.json about)
string(JSON version GET "${about}" version)
csp_hash(script_hash ${SCRIPT})
csp_hash(style_hash ${STYLE})
# What comes from files last, so that nothing in it is taken for a mark.
foreach(mark version script_hash style_hash licence style script layout)
  string(REPLACE "{{${mark}}}" "${${mark}}" page "${page}")
endforeach()

function(take variable mark)
  string(FIND "${page}" "${mark}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${TEMPLATE} has no ${mark}")
  endif()
  string(SUBSTRING "${page}" 0 ${at} part)
  string(LENGTH "${mark}" length)
  math(EXPR at "${at} + ${length}")
  string(SUBSTRING "${page}" ${at} -1 rest)
  set(${variable} "${part}" PARENT_SCOPE)
  set(page "${rest}" PARENT_SCOPE)
endfunction()
take(before_title "{{title}}")
take(before_data "{{data}}")

file(WRITE ${OUTPUT}.new "#include \"writers/pictures/html_page.h\"

namespace fxtrace::internal {

HtmlPage html_page() {
  return {R\"fxtrace_page(${before_title})fxtrace_page\",
          R\"fxtrace_page(${before_data})fxtrace_page\",
          R\"fxtrace_page(${page})fxtrace_page\"};
}

}  // namespace fxtrace::internal
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
