#include "writers/html_writer.h"

#include "writers/html_data.h"
#include "writers/html_page.h"
#include "writers/html_text.h"

namespace fxtrace {

void write_html(const GraphCollection& collection, std::ostream& out, const PictureOptions& options) {
  const HtmlPage page = html_page();
  const GraphCollection::Model& model = collection.model;
  out << page.before_title << html_text(model.file.empty() ? model.type : model.file) << page.before_data;
  write_html_data(collection, out, options);
  out << page.after_data;
}

}  // namespace fxtrace
