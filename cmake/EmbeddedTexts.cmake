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
