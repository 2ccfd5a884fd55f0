//===- JsonObject.h - Reading an object's fields to the last ----*- C++ -*-===//

#ifndef TFM_IMPORT_JSONOBJECT_H
#define TFM_IMPORT_JSONOBJECT_H

#include "import/formats/Json.h"
#include "llvm/ADT/SmallVector.h"
#include <nlohmann/json.hpp>

namespace mlir::tfm {

/// A value of a JSON file that is known by its place: "model.merges[3]".
/// Belongs to whoever has the file.
struct JsonValue {
  const nlohmann::json *json;
  std::string place;

  /// `message` reads on from the place.
  llvm::Error error(const llvm::Twine &message) const;

  /// "expects X, but got" this value.
  llvm::Error expects(const llvm::Twine &what) const {
    return error("expects " + what + ", but got " + describe(*json));
  }

  bool isNull() const { return json->is_null(); }

  /// Fail on a value of another kind.
  llvm::Expected<std::string> getString() const;
  llvm::Expected<bool> getBool() const;
  llvm::Expected<int64_t> getInt(int64_t least, int64_t most) const;
  llvm::Expected<double> getFloat() const;
  llvm::Expected<llvm::SmallVector<JsonValue, 0>> getElements() const;
};

/// An object whose every field has to be asked for.
class JsonObject {
public:
  /// Fails if `value` is no object.
  static llvm::Expected<JsonObject> open(const JsonValue &value);

  /// The value of a field, which has to be there.
  llvm::Expected<JsonValue> get(llvm::StringRef key);

  /// The value of a field, null if there is none.
  JsonValue find(llvm::StringRef key);

  /// The same where the field may be missing or null.
  llvm::Expected<std::string> getString(llvm::StringRef key,
                                        llvm::StringRef fallback);
  llvm::Expected<bool> getBool(llvm::StringRef key, bool fallback);

  /// The names of all fields.
  std::vector<std::string> getKeys() const;

  /// Fails if there is a field that nothing asked for.
  llvm::Error finish() const;

  const JsonValue &getValue() const { return value; }

private:
  explicit JsonObject(JsonValue value) : value(std::move(value)) {}

  JsonValue value;
  llvm::StringSet<> used;
};

} // namespace mlir::tfm

#endif // TFM_IMPORT_JSONOBJECT_H
