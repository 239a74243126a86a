#include "app/options/cost_arguments.h"

#include <string>
#include <utility>

#include <CLI/CLI.hpp>

namespace fxtrace::internal::cli {

void CostArguments::add_to(CLI::App& app, const char* group) {
  app.add_option_function<std::string>(
         "--at",
         [this](const std::string& text) {
           for (GivenSizes& each : read_given_sizes(text)) at.push_back(std::move(each));
         },
         "compute shapes and costs at these sizes of dimensions or inputs: batch=1,seq=4096 or "
         "x=1x3x224x224. Repeatable")
      ->type_name("NAME=N,..")
      ->trigger_on_parse()
      ->group(group);
}

}  // namespace fxtrace::internal::cli
