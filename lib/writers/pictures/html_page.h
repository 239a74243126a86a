// The page of web/ as strings, which cmake/WebPage.cmake generates.
#pragma once

#include <string_view>

namespace fxtrace {

struct HtmlPage {
  std::string_view before_title, before_data, after_data;
};
HtmlPage html_page();

}  // namespace fxtrace
