// The page of web/ as the build has put it together; cmake/WebPage.cmake writes the texts.
#pragma once

#include <string_view>

namespace fxtrace {

struct HtmlPage {
  std::string_view before_title, before_data, after_data;
};
HtmlPage html_page();

}  // namespace fxtrace
