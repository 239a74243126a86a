// The data of `fxtrace bom`: what files of models are and are made of.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "archive/file_kind.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// A licence that a file gives.
struct FoundLicence {
  std::string id;      // of SPDX's list: "Apache-2.0"; empty: the text is none that is known
  std::string text;    // the first line of what stands there
  std::string record;  // where it stands in the archive: "extra/LICENSE"
};

struct Material {
  std::string name;                                    // base name of the file
  std::uint64_t size = 0;                              // in bytes
  std::string kind;                                    // "exported_program", as fxtrace inspect gives it
  std::string sha256 = {};                             // of the whole file, in digits
  std::string type = {};                               // the root's; empty: unknown
  std::string producer = {};                           // "PyTorch 2.13.0"; empty: the file does not say
  std::map<std::string, std::int64_t> operators = {};  // the number of calls, by namespace: "aten"
  std::int64_t failed = 0;  // modules that could not be traced, whose operators are not counted
  std::vector<FoundLicence> licences = {};
};

// Looks at records of a zip archive that are named as licences are (LICENSE, licence.txt, COPYING.md,
// NOTICE), and at "license" and "licence" in JSON among the extra files.
std::vector<FoundLicence> find_licences(const ZipArchive& archive);
// Returns the licence of a text: an identifier of SPDX, alone or behind "SPDX-License-Identifier:", or the
// text of a licence that is known.
FoundLicence licence_of(std::string_view text, const std::string& record);

// Counts the calls of operators of all graphs, and the modules that failed.
void count_operators(const GraphCollection& collection, Material& material);

}  // namespace fxtrace::internal
