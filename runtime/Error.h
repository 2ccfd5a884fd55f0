//===- Error.h - A failure and its message ----------------------*- C++ -*-===//
//
// How the runtime reports failures without exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_ERROR_H
#define TFM_RUNTIME_ERROR_H

#include <string>
#include <utility>

namespace tfm {

/// Success, or a message. True if there is a message:
///
///   if (Error error = open())
///     return error;
class [[nodiscard]] Error {
public:
  Error() = default;
  Error(std::string message) : text(std::move(message)) {}

  explicit operator bool() const { return !text.empty(); }
  const std::string &message() const { return text; }

private:
  std::string text;
};

} // namespace tfm

#endif // TFM_RUNTIME_ERROR_H
