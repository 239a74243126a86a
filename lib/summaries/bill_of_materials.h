// The data of `fxtrace bom`: what files of models are and are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "archive/file_kind.h"
#include "fxtrace/report_values.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

using fxtrace::FoundLicence;
using fxtrace::Material;

// Looks at records of a zip archive that are named as licences are (LICENSE, licence.txt, COPYING.md,
// NOTICE), and at "license" and "licence" in JSON among the extra files.
std::vector<FoundLicence> find_licences(const ZipArchive& archive);
// Returns the licence of a text: an identifier of SPDX, alone or behind "SPDX-License-Identifier:", or the
// text of a licence that is known.
FoundLicence licence_of(std::string_view text, const std::string& record);

// Counts the calls of operators of all graphs, and the modules that failed.
void count_operators(const GraphCollection& collection, Material& material);

}  // namespace fxtrace::internal
