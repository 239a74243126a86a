// `fxtrace bom`: writes a bill of materials of models' files, in a form that other tools collect.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/commands/commands.h"
#include "app/options/trace_options.h"
#include "app/output/files.h"
#include "app/output/formats.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "pipelines/answers/questions.h"
#include "writers/reports/report_writers.h"

namespace fxtrace::internal::cli {
namespace {

constexpr AnswerRow<std::vector<Material>> kBomFormats[] = {
    {{.suffix = ".json", .other_name = "cyclonedx"}, write_plain<write_bom_cyclonedx>},
    {{.suffix = ".spdx.json", .other_name = "spdx"}, write_plain<write_bom_spdx>}};

struct BomArguments : ModelArguments {
  std::vector<std::string> models;
  AnswerFormats<std::vector<Material>> answer{kBomFormats};
};

int run_bom(const BomArguments& arguments, Console& console) {
  Config config = arguments.set_up(console);
  const auto& row = arguments.answer.row();  // reports a wrong suffix before any work
  std::vector<std::unique_ptr<InputFile>> inputs;
  for (const std::string& model : arguments.models)
    inputs.push_back(std::make_unique<InputFile>(model, console, arguments.isolation.seconds()));
  std::vector<const InputFile*> others;
  for (std::size_t i = 1; i < inputs.size(); ++i) others.push_back(inputs[i].get());
  Output output(arguments.answer.output(), *inputs.front(), console);
  return run_isolated(
      arguments.isolation, *inputs.front(), output, console, config.options,
      [&](Isolated& isolated) {
        std::vector<Material> materials;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          isolated.reads(i);
          materials.push_back(material_of(config, NamedFile(*inputs[i]), isolated));
        }
        output.write([&](std::ostream& out) { row.write(materials, out, {}); });
        return kDone;
      },
      others);
}

}  // namespace

Command make_bom_command(CLI::App& app) {
  auto arguments = std::make_shared<BomArguments>();
  app.description(
      app.get_description() +
      " Of each file: its name, size and SHA-256, the torch that wrote it, the number of calls of operators by "
      "namespace, and the licences that it gives: in records named LICENSE, COPYING or NOTICE, and as \"license\" in JSON "
      "among its extra files. A file that holds no program has no operators. All bytes are read. The same files give the "
      "same bytes: there is no time and no random number.");
  app.footer(
      "  fxtrace bom model.pt2 -o model.cdx.json\n"
      "  fxtrace bom encoder.pt2 decoder.pt2 -f spdx -o models.spdx.json\n");
  app.add_option("MODEL", arguments->models, "the model files, or - for stdin")->required();
  arguments->answer.add_to(app);
  arguments->add_to(app);
  return [arguments](Console& console) { return run_bom(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
