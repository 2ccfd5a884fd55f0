//===- Json.h - JSON files whose root is an object --------------*- C++ -*-===//
//
// Bytes only, without any idea of what a key means. nlohmann-json parses.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_IMPORT_FORMATS_JSON_H
#define TFM_IMPORT_FORMATS_JSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace mlir::tfm {

/// Parses text that should be JSON. An error reads on from the name of the
/// text, "line 3, column 7: …". Nesting deeper than 64, keys that occur twice
/// in an object, and what is not UTF-8 are errors.
llvm::Expected<nlohmann::json> parseJson(llvm::StringRef text);

/// Reads a whole file of at most `mostBytes`. Errors start with its name, and
/// say so if it is a directory, empty, or a Git LFS pointer. `what` is what the
/// file should be: "a JSON file".
llvm::Expected<std::string>
readWholeFile(llvm::StringRef path, llvm::StringRef what, uint64_t mostBytes);

/// A JSON file whose root is an object. Its keys are asked for one by one, so
/// that those that nobody knows can be told. A key inside of an object is named
/// by its path: "rope_scaling.factor".
///
/// Errors start with the file's name: `config.json: hidden_size: expects this,
/// but got that`.
class JsonFile {
public:
  /// `path` without its folders is the name in messages.
  static llvm::Expected<JsonFile> open(llvm::StringRef path);

  /// The same for text that is in memory.
  static llvm::Expected<JsonFile> parse(llvm::StringRef text,
                                        llvm::StringRef name);

  JsonFile(JsonFile &&other);
  ~JsonFile();

  /// The file's name, without its folders.
  llvm::StringRef getName() const { return name; }

  /// The whole content.
  const nlohmann::json &getRoot() const { return *root; }

  /// Whether there is a value other than null. Counts as a use.
  bool has(llvm::StringRef key);

  /// The value of a key; null counts as missing. A value of another kind is an
  /// error, and so is a missing key where there is no fallback. Whole numbers
  /// may be written as floats ("1e4"). What these were asked for counts as
  /// used.
  llvm::Expected<int64_t> getInt(llvm::StringRef key,
                                 std::optional<int64_t> fallback = {});
  llvm::Expected<double> getFloat(llvm::StringRef key,
                                  std::optional<double> fallback = {});
  llvm::Expected<bool> getBool(llvm::StringRef key,
                               std::optional<bool> fallback = {});
  llvm::Expected<std::string>
  getString(llvm::StringRef key, std::optional<std::string> fallback = {});

  /// A size: a whole number from 1 to 2^31 − 1.
  llvm::Expected<int64_t> getSize(llvm::StringRef key,
                                  std::optional<int64_t> fallback = {});

  /// Fails if the key is there with another value than `neutral`, which is JSON
  /// text. Counts as a use.
  llvm::Error checkNeutral(llvm::StringRef key, llvm::StringRef neutral);

  /// Counts the key as used.
  void ignore(llvm::StringRef key);

  /// The keys of the root that nothing has asked for yet.
  std::vector<std::string> getUnusedKeys() const;

  /// An error about a key; `message` reads on from its name.
  llvm::Error keyError(llvm::StringRef key, const llvm::Twine &message) const;

  /// The value of a key as text for messages: JSON, cut if long.
  std::string describeValue(llvm::StringRef key) const;

private:
  JsonFile(nlohmann::json root, llvm::StringRef name);

  /// The value of a key, null if there is none.
  const nlohmann::json *find(llvm::StringRef key) const;
  /// The same, used, where one of a kind is needed: null stands for the
  /// fallback.
  llvm::Expected<const nlohmann::json *>
  find(llvm::StringRef key, bool (*isWanted)(const nlohmann::json &),
       const char *wanted, bool hasFallback);

  std::unique_ptr<nlohmann::json> root;
  std::string name;
  llvm::StringSet<> used;
};

/// A value as text for messages: JSON, cut if long.
std::string describe(const nlohmann::json &value);

} // namespace mlir::tfm

#endif // TFM_IMPORT_FORMATS_JSON_H
