//===- Json.cpp - JSON files whose root is an object ----------------------===//
//
// See Json.h. The only file of this room with exceptions: that is how
// nlohmann-json says where a text is wrong. None leaves it.
//
//===----------------------------------------------------------------------===//

#include "import/formats/Json.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

using namespace mlir::tfm;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using Json = nlohmann::json;

static constexpr int kDeepest = 64;
/// The largest tokenizer.json published has some 35 MB.
static constexpr uint64_t kMostBytes = uint64_t(256) << 20;

static Error fail(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// "line 3, column 7", of the byte at `offset`.
static std::string placeOf(StringRef text, size_t offset) {
  StringRef before = text.take_front(offset);
  size_t line = before.count('\n') + 1;
  size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  return ("line " + Twine(line) + ", column " + Twine(column)).str();
}

namespace {
/// Thrown out of the parser; `message` is for people.
struct Refusal {
  std::string message;
};

/// Builds a value, and refuses what the parser would let through.
class Checker {
public:
  bool operator()(int depth, Json::parse_event_t event, Json &value) {
    switch (event) {
    case Json::parse_event_t::object_start:
      keys.emplace_back();
      [[fallthrough]];
    case Json::parse_event_t::array_start:
      if (depth >= kDeepest)
        throw Refusal{"expects at most " + std::to_string(kDeepest) +
                      " levels of nesting, but got more"};
      break;
    case Json::parse_event_t::object_end:
      keys.pop_back();
      break;
    case Json::parse_event_t::key:
      if (!keys.back().insert(value.get<std::string>()).second)
        throw Refusal{"expects each key once, but got " + describe(value) +
                      " twice"};
      break;
    default:
      break;
    }
    return true;
  }

private:
  std::vector<std::set<std::string>> keys; ///< of the objects that are open
};
} // namespace

Expected<Json> mlir::tfm::parseJson(StringRef text) {
  try {
    Checker checker;
    return Json::parse(text.begin(), text.end(),
                       [&](int depth, Json::parse_event_t event, Json &value) {
                         return checker(depth, event, value);
                       });
  } catch (const Refusal &refusal) {
    return fail(refusal.message);
  } catch (const Json::parse_error &error) {
    return fail(placeOf(text, error.byte ? error.byte - 1 : 0) +
                ": expects JSON, but got something else");
  } catch (const Json::out_of_range &) {
    return fail("expects finite numbers, but got one that is too large");
  }
}

Expected<std::string> mlir::tfm::readWholeFile(StringRef path, StringRef what,
                                               uint64_t mostBytes) {
  StringRef name = llvm::sys::path::filename(path);
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return fail(name + ": cannot be read: " + error.message());
  if (!llvm::sys::fs::is_regular_file(status))
    return fail(name + ": expects " + what + ", but got a " +
                (llvm::sys::fs::is_directory(status) ? "directory"
                                                     : "pipe or a device"));
  if (status.getSize() > mostBytes)
    return fail(name + ": expects at most " + Twine(mostBytes) +
                " bytes, but got " + Twine(status.getSize()));
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return fail(name + ": cannot be read: " + buffer.getError().message());
  StringRef bytes = (*buffer)->getBuffer();
  if (bytes.empty())
    return fail(name + ": expects " + what + ", but got an empty file");
  if (bytes.starts_with("version https://git-lfs.github.com/"))
    return fail(name + ": expects " + what +
                ", but got a Git LFS pointer to one: the file itself is still "
                "to be fetched");
  return bytes.str();
}

std::string mlir::tfm::describe(const Json &value) {
  constexpr size_t kMost = 60;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= kMost)
    return text;
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end; // not inside of a character
  return text.substr(0, end) + "…";
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

JsonFile::JsonFile(Json root, StringRef name)
    : root(std::make_unique<Json>(std::move(root))), name(name) {}
JsonFile::JsonFile(JsonFile &&other) = default;
JsonFile::~JsonFile() = default;

Expected<JsonFile> JsonFile::open(StringRef path) {
  Expected<std::string> text = readWholeFile(path, "a JSON file", kMostBytes);
  if (!text)
    return text.takeError();
  return parse(*text, llvm::sys::path::filename(path));
}

Expected<JsonFile> JsonFile::parse(StringRef text, StringRef name) {
  Expected<Json> root = parseJson(text);
  if (!root)
    return fail(name + ": " + llvm::toString(root.takeError()));
  if (!root->is_object())
    return fail(name + ": expects an object, but got " + describe(*root));
  return JsonFile(std::move(*root), name);
}

const Json *JsonFile::find(StringRef key) const {
  const Json *value = root.get();
  for (StringRef rest = key; !rest.empty();) {
    auto [first, others] = rest.split('.');
    if (!value->is_object())
      return nullptr;
    auto found = value->find(first.str());
    if (found == value->end())
      return nullptr;
    value = &*found;
    rest = others;
  }
  return value->is_null() ? nullptr : value;
}

Expected<const Json *> JsonFile::find(StringRef key,
                                      bool (*isWanted)(const Json &),
                                      const char *wanted, bool hasFallback) {
  ignore(key);
  const Json *value = find(key);
  if (value && !isWanted(*value))
    return keyError(key, Twine("expects ") + wanted + ", but got " +
                             describe(*value));
  if (!value && !hasFallback)
    return keyError(key, Twine("expects ") + wanted + ", but got no such key");
  return value;
}

bool JsonFile::has(StringRef key) {
  ignore(key);
  return find(key) != nullptr;
}

void JsonFile::ignore(StringRef key) { used.insert(key.split('.').first); }

/// Whether the value is a whole number that an int64_t holds.
static bool isInteger(const Json &value) {
  if (value.is_number_float()) {
    double number = value.get<double>();
    return number == std::trunc(number) && std::abs(number) < 0x1p53;
  }
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
}

Expected<int64_t> JsonFile::getInt(StringRef key,
                                   std::optional<int64_t> fallback) {
  auto value = find(key, isInteger, "a whole number", fallback.has_value());
  if (!value)
    return value.takeError();
  return *value ? (*value)->get<int64_t>() : *fallback;
}

Expected<double> JsonFile::getFloat(StringRef key,
                                    std::optional<double> fallback) {
  auto value = find(
      key,
      [](const Json &value) {
        return value.is_number() && std::isfinite(value.get<double>());
      },
      "a finite number", fallback.has_value());
  if (!value)
    return value.takeError();
  return *value ? (*value)->get<double>() : *fallback;
}

Expected<bool> JsonFile::getBool(StringRef key, std::optional<bool> fallback) {
  auto value = find(
      key, [](const Json &value) { return value.is_boolean(); },
      "true or false", fallback.has_value());
  if (!value)
    return value.takeError();
  return *value ? (*value)->get<bool>() : *fallback;
}

Expected<std::string> JsonFile::getString(StringRef key,
                                          std::optional<std::string> fallback) {
  auto value = find(
      key, [](const Json &value) { return value.is_string(); }, "a string",
      fallback.has_value());
  if (!value)
    return value.takeError();
  return *value ? (*value)->get<std::string>() : *fallback;
}

Expected<int64_t> JsonFile::getSize(StringRef key,
                                    std::optional<int64_t> fallback) {
  Expected<int64_t> value = getInt(key, fallback);
  if (value && (*value < 1 || *value > INT32_MAX))
    return keyError(key, "expects a size from 1 to " + Twine(INT32_MAX) +
                             ", but got " + Twine(*value));
  return value;
}

Error JsonFile::checkNeutral(StringRef key, StringRef neutral) {
  ignore(key);
  const Json *value = find(key);
  Expected<Json> wanted = parseJson(neutral);
  if (!wanted)
    return wanted.takeError();
  if (!value || *value == *wanted)
    return Error::success();
  return keyError(key, "expects " + neutral +
                           ", since others are not "
                           "supported, but got " +
                           describe(*value));
}

std::vector<std::string> JsonFile::getUnusedKeys() const {
  std::vector<std::string> keys;
  for (const auto &[key, value] : root->items())
    if (!used.contains(key))
      keys.push_back(key);
  return keys;
}

Error JsonFile::keyError(StringRef key, const Twine &message) const {
  return fail(name + ": " + key + ": " + message);
}

std::string JsonFile::describeValue(StringRef key) const {
  const Json *value = find(key);
  return value ? describe(*value) : "nothing";
}
