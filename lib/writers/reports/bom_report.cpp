// Bills of materials as JSON.  The same files give the same bytes: there is no time and no random number.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/hashes.h"
#include "support/json_emitter.h"
#include "support/text/words.h"
#include "writers/reports/report_writers.h"

namespace fxtrace::internal {
namespace {

// Returns a UUID of version 8, whose bits are those of a hash of all files and their names.
std::string uuid_of(const std::vector<Material>& materials) {
  Sha256 hash;
  for (const Material& material : materials) hash.add(material.sha256 + " " + material.name + "\n");
  const std::string digits = hash.digits();
  return digits.substr(0, 8) + "-" + digits.substr(8, 4) + "-8" + digits.substr(13, 3) + "-a" +
         digits.substr(17, 3) + "-" + digits.substr(20, 12);
}

struct Property {
  std::string name, value;
};
std::vector<Property> properties_of(const Material& material) {
  std::vector<Property> properties = {{"fxtrace:kind", material.kind},
                                      {"fxtrace:size", std::to_string(material.size)}};
  if (!material.type.empty()) properties.emplace_back("fxtrace:type", material.type);
  if (!material.producer.empty()) properties.emplace_back("fxtrace:producer", material.producer);
  for (const auto& [space, count] : material.operators)
    properties.emplace_back("fxtrace:operators:" + space, std::to_string(count));
  if (material.failed > 0)
    properties.emplace_back("fxtrace:modules-not-traced", std::to_string(material.failed));
  for (const FoundLicence& licence : material.licences)
    properties.emplace_back("fxtrace:licence:" + licence.record, licence.text);
  return properties;
}

// Returns the licences, each once, by their identifiers or else by their texts, and whether it is the former.
std::map<std::string, bool> licences_of(const Material& material) {
  std::map<std::string, bool> licences;
  for (const auto& [id, text, record] : material.licences)
    licences.emplace(id.empty() ? text : id, !id.empty());
  return licences;
}

void write_hash(JsonEmitter& json, const char* list, const char* name, const char* value,
                const char* algorithm, const Material& material) {
  json.key(list).objects(std::vector{material.sha256}, [&](const std::string& digits) {
    json.field(name, algorithm);
    json.field(value, digits);
  });
}

}  // namespace

void write_bom_cyclonedx(const std::vector<Material>& materials, std::ostream& out) {
  JsonEmitter json(out);
  json.document([&] {
    json.field("$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json");
    json.field("bomFormat", "CycloneDX");
    json.field("specVersion", "1.6");
    json.field("serialNumber", "urn:uuid:" + uuid_of(materials));
    json.field("version", 1);
    json.key("metadata").object([&] {
      json.key("tools").object([&] {
        json.key("components").objects(std::vector{FXTRACE_VERSION}, [&](const char* version) {
          json.field("type", "application");
          json.field("name", "fxtrace");
          json.field("version", version);
        });
      });
    });
    json.key("components").list_lines(materials, [&](const Material& material) {
      json.object_lines([&] {
        json.field("type", "machine-learning-model");
        json.field("bom-ref", "model-" + std::to_string(&material - materials.data() + 1));
        json.field("name", material.name);
        write_hash(json, "hashes", "alg", "content", "SHA-256", material);
        if (!material.licences.empty()) {
          json.key("licenses").objects(licences_of(material), [&](const auto& licence) {
            json.key("license").object([&] { json.field(licence.second ? "id" : "name", licence.first); });
          });
        }
        json.key("properties").objects_lines(properties_of(material), [&](const Property& property) {
          json.field("name", property.name);
          json.field("value", property.value);
        });
      });
    });
  });
}

void write_bom_spdx(const std::vector<Material>& materials, std::ostream& out) {
  const auto id_of = [&](const Material& material) {
    return "SPDXRef-model-" + std::to_string(&material - materials.data() + 1);
  };
  JsonEmitter json(out);
  json.document([&] {
    json.field("spdxVersion", "SPDX-2.3");
    json.field("dataLicense", "CC0-1.0");
    json.field("SPDXID", "SPDXRef-DOCUMENT");
    json.field("name", joined(materials, &Material::name));
    json.field("documentNamespace", "https://spdx.org/spdxdocs/fxtrace-" + uuid_of(materials));
    json.key("creationInfo").object([&] {
      json.field("created", "1970-01-01T00:00:00Z");  // there has to be one
      json.field("creators", std::vector{"Tool: fxtrace-" FXTRACE_VERSION});
    });
    json.key("packages").list_lines(materials, [&](const Material& material) {
      std::vector<std::string> licences;
      for (const auto& [name, is_id] : licences_of(material)) {
        if (is_id) licences.push_back(name);
      }
      const bool is_known = !licences.empty() && licences.size() == licences_of(material).size();
      json.object_lines([&] {
        json.field("SPDXID", id_of(material));
        json.field("name", material.name);
        json.field("packageFileName", material.name);
        json.field("primaryPackagePurpose", "FILE");
        json.field("downloadLocation", "NOASSERTION");
        json.field("filesAnalyzed", false);
        write_hash(json, "checksums", "algorithm", "checksumValue", "SHA256", material);
        json.field("licenseConcluded", "NOASSERTION");
        json.field("licenseDeclared", is_known ? joined(licences, std::identity(), " AND ") : "NOASSERTION");
        json.field("copyrightText", "NOASSERTION");
        json.field("comment", joined(
                                  properties_of(material),
                                  [](const Property& one) { return one.name + ": " + one.value; }, "\n"));
      });
    });
    json.key("relationships").objects_lines(materials, [&](const Material& material) {
      json.field("spdxElementId", "SPDXRef-DOCUMENT");
      json.field("relationshipType", "DESCRIBES");
      json.field("relatedSpdxElement", id_of(material));
    });
  });
}

}  // namespace fxtrace::internal
