// The page of web/ as strings; cmake/WebPage.cmake generates the implementation.
#pragma once

#include <string_view>

namespace fxtrace::internal {

struct HtmlPage {
  std::string_view before_title, before_data, after_data;
};
HtmlPage html_page();

}  // namespace fxtrace::internal
