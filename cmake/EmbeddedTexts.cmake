# Writes a C++ file with the texts of files: those of schemas/ for `fxtrace schema`, the sets of operators, and
# helpers of Python.
# In the template, @rows@ stands for a row with name and text of each file; the name ends at the first dot.
function(fxtrace_embedded_texts output template)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  set(rows "")
  foreach(file IN LISTS ARGN)
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} text)
    string(APPEND rows "    {\"${name}\", R\"text(${text})text\"},\n")
  endforeach()
  configure_file(${template} ${output} @ONLY)
endfunction()

# Writes a file to include in an array: a row of each line of a table, without the comments that begin it.  `row` has the parts of
# a line that fit the groups of `pattern`, \\1 and so on.
function(fxtrace_embedded_rows output table pattern row)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(READ ${table} text)
  string(REGEX REPLACE "^(#[^\n]*\n)+" "" text "${text}")
  string(REPLACE " # " "#" text "${text}")
  string(REGEX REPLACE "${pattern}\n" "${row},\n" text "${text}")
  file(CONFIGURE OUTPUT ${output} CONTENT "${text}" @ONLY)
endfunction()
