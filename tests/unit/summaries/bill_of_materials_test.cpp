// Licences that files give, for `fxtrace bom`.
#include "summaries/bill_of_materials.h"

#include <string>

#include "catch.h"

using namespace fxtrace::internal;

TEST_CASE("licences are known by their identifiers and texts", "[bom]") {
  const auto id_of = [](const std::string& text) { return licence_of(text, "LICENSE").id; };
  CHECK(id_of("apache-2.0") == "Apache-2.0");
  CHECK(id_of("\n   Apache License\n   Version 2.0, January 2004\n") == "Apache-2.0");
  CHECK(id_of("MIT License\n\nPermission is hereby granted,\nfree of charge, to any person") == "MIT");
  CHECK(id_of("Redistributions in binary form must reproduce the above\n * Neither the name of X") ==
        "BSD-3-Clause");
  CHECK(id_of("# SPDX-License-Identifier: GPL-3.0-or-later\n# more") == "GPL-3.0-or-later");
  CHECK(id_of("GNU GENERAL PUBLIC LICENSE\nVersion 3") == "");  // or later?
  CHECK(licence_of("\r\n My own\nterms", "a/COPYING").text == "My own");
  CHECK(id_of("") == "");
}
