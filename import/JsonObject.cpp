//===- JsonObject.cpp - Reading an object's fields to the last ------------===//
//
// See JsonObject.h.
//
//===----------------------------------------------------------------------===//

#include "import/JsonObject.h"

using namespace mlir::tfm;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using Json = nlohmann::json;

Error JsonValue::error(const Twine &message) const {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 place + ": " + message);
}

Expected<std::string> JsonValue::getString() const {
  if (const auto *text = json->get_ptr<const std::string *>())
    return *text;
  return expects("a string");
}

Expected<bool> JsonValue::getBool() const {
  if (const auto *flag = json->get_ptr<const bool *>())
    return *flag;
  return expects("true or false");
}

Expected<int64_t> JsonValue::getInt(int64_t least, int64_t most) const {
  bool fits = json->is_number_integer() &&
              (!json->is_number_unsigned() ||
               *json->get_ptr<const uint64_t *>() <= INT64_MAX);
  if (fits)
    if (auto number = json->get<int64_t>(); number >= least && number <= most)
      return number;
  return expects("a whole number from " + Twine(least) + " to " + Twine(most));
}

Expected<double> JsonValue::getFloat() const {
  if (json->is_number())
    return json->get<double>();
  return expects("a number");
}

Expected<llvm::SmallVector<JsonValue, 0>> JsonValue::getElements() const {
  if (!json->is_array())
    return expects("an array");
  llvm::SmallVector<JsonValue, 0> elements;
  for (const Json &element : *json)
    elements.push_back(
        {&element, place + "[" + std::to_string(elements.size()) + "]"});
  return elements;
}

Expected<JsonObject> JsonObject::open(const JsonValue &value) {
  if (!value.json->is_object())
    return value.expects("an object");
  return JsonObject(value);
}

JsonValue JsonObject::find(StringRef key) {
  static const Json null;
  used.insert(key);
  std::string place =
      value.place.empty() ? key.str() : (value.place + "." + key).str();
  auto found = value.json->find(key.str());
  return {found == value.json->end() ? &null : &*found, std::move(place)};
}

Expected<JsonValue> JsonObject::get(StringRef key) {
  JsonValue found = find(key);
  if (value.json->contains(key.str()))
    return found;
  return found.error("expects a value, but got no such key");
}

Expected<std::string> JsonObject::getString(StringRef key, StringRef fallback) {
  JsonValue found = find(key);
  return found.isNull() ? fallback.str() : found.getString();
}

Expected<bool> JsonObject::getBool(StringRef key, bool fallback) {
  JsonValue found = find(key);
  return found.isNull() ? Expected<bool>(fallback) : found.getBool();
}

std::vector<std::string> JsonObject::getKeys() const {
  std::vector<std::string> keys;
  for (const auto &[key, field] : value.json->items())
    keys.push_back(key);
  return keys;
}

Error JsonObject::finish() const {
  for (const auto &[key, field] : value.json->items())
    if (!used.contains(key))
      return JsonValue{&field,
                       value.place.empty() ? key : value.place + "." + key}
          .error(
              "expects no such key, since what it does is unknown, but got " +
              describe(field));
  return Error::success();
}
