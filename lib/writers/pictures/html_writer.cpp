#include "writers/pictures/html_writer.h"

#include "writers/formats/html_text.h"
#include "writers/pictures/html_data.h"
#include "writers/pictures/html_page.h"

namespace fxtrace::internal {

void write_html(const GraphCollection& collection, std::ostream& out, const PictureOptions& options,
                const Marking& marking) {
  const HtmlPage page = html_page();
  const GraphCollection::Model& model = collection.model;
  out << page.before_title << html_text(model.file.empty() ? model.type : model.file) << page.before_data;
  write_html_data(collection, out, options, marking);
  out << page.after_data;
}

}  // namespace fxtrace::internal
