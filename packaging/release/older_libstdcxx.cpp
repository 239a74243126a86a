// Compiled into each plugin (plugins.py): what the headers of GNU's C++ library 12 take from the library
// itself, and that of GCC 8, which torch runs with, does not have.  The templates are instantiated here and
// nowhere seen from outside.
#include <bits/functexcept.h>
#include <sstream>

template class std::basic_stringbuf<char>;
template class std::basic_istringstream<char>;
template class std::basic_ostringstream<char>;
template class std::basic_stringstream<char>;

namespace std {
void __throw_bad_array_new_length() { __throw_bad_alloc(); }
}  // namespace std
