//===- HuggingFace.cpp - From a directory to IR ---------------------------===//
//
// See HuggingFace.h.
//
//===----------------------------------------------------------------------===//

#include "import/HuggingFace.h"

#include "dialect/TfmDialect.h"
#include "import/Resources.h"
#include "import/architectures/Bert.h"
#include "import/formats/Json.h"
#include "import/formats/Safetensors.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace mlir::tfm;
using llvm::Error;

static std::string inside(StringRef directory, const Twine &name) {
  SmallString<256> path(directory);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

/// Adds what nothing has asked for to `unused`.
static void report(const JsonFile &file, const Twine &place,
                   SmallVectorImpl<std::string> &unused) {
  for (const std::string &key : file.getUnusedKeys())
    unused.push_back((place + ": " + key).str());
}

//===----------------------------------------------------------------------===//
// What sentence-transformers adds
//===----------------------------------------------------------------------===//

namespace {
/// How a sentence encoder goes on from the last layer's rows, and the longest
/// text it takes.
struct SentenceEncoder {
  SentencePooling pooling;
  std::optional<int64_t> longest;
};
} // namespace

static Error readPooling(StringRef directory, StringRef folder,
                         SentencePooling &pooling,
                         SmallVectorImpl<std::string> &unused) {
  auto name = (folder + "/config.json").str();
  llvm::Expected<JsonFile> file = JsonFile::open(inside(directory, name));
  if (!file)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   folder + "/" +
                                       llvm::toString(file.takeError()));
  bool isMean, isFirst;
  if (Error error =
          file->getBool("pooling_mode_mean_tokens", false).moveInto(isMean))
    return error;
  if (Error error =
          file->getBool("pooling_mode_cls_token", false).moveInto(isFirst))
    return error;
  for (const auto &[key, value] : file->getRoot().items())
    if (StringRef(key).starts_with("pooling_mode_") &&
        key != "pooling_mode_mean_tokens" && key != "pooling_mode_cls_token")
      if (Error error = file->checkNeutral(key, "false"))
        return error;
  if (isMean == isFirst)
    return file->keyError("pooling_mode_mean_tokens",
                          "expects either this or pooling_mode_cls_token to be "
                          "true");
  pooling.kind = isMean ? PoolKind::Mean : PoolKind::First;
  file->ignore("word_embedding_dimension");
  if (Error error = file->checkNeutral("include_prompt", "true"))
    return error;
  report(*file, name, unused);
  return Error::success();
}

/// Follows the modules from the first, which is the encoder itself.
static Error readModules(StringRef directory, const nlohmann::json &modules,
                         SentencePooling &pooling,
                         SmallVectorImpl<std::string> &unused) {
  auto fail = [](const Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "modules.json: " + message);
  };
  bool isPooled = false;
  for (auto [index, module] : llvm::enumerate(modules)) {
    auto text = [&](const char *key) -> std::optional<std::string> {
      auto found = module.is_object() ? module.find(key) : module.end();
      if (found == module.end() || !found->is_string())
        return std::nullopt;
      return found->get<std::string>();
    };
    std::optional<std::string> type = text("type"), path = text("path");
    if (!type || !path)
      return fail("expects modules with a type and a path, but got " +
                  describe(module));
    StringRef kind = StringRef(*type).rsplit('.').second;
    if (index == 0 && kind == "Transformer" && path->empty())
      continue;
    if (kind == "Pooling" && !isPooled &&
        llvm::sys::path::filename(*path) == *path && *path != "..") {
      isPooled = true;
      if (Error error = readPooling(directory, *path, pooling, unused))
        return error;
    } else if (kind == "Normalize" && isPooled && !pooling.normalizes) {
      pooling.normalizes = true;
    } else {
      return fail("expects a Transformer in the directory itself, Pooling and "
                  "perhaps Normalize, but got " +
                  describe(module));
    }
  }
  if (!isPooled)
    return fail("expects a Pooling module, but got none");
  return Error::success();
}

static llvm::Expected<SentenceEncoder>
readSentenceEncoder(StringRef directory, SmallVectorImpl<std::string> &unused) {
  SentenceEncoder encoder;
  std::string modules = inside(directory, "modules.json");
  if (llvm::sys::fs::exists(modules)) {
    llvm::Expected<std::string> text =
        readWholeFile(modules, "a JSON file", 1 << 20);
    if (!text)
      return text.takeError();
    llvm::Expected<nlohmann::json> root = parseJson(*text);
    if (!root || !root->is_array())
      return llvm::createStringError(
          llvm::inconvertibleErrorCode(),
          "modules.json: " +
              (root ? "expects an array, but got " + describe(*root)
                    : llvm::toString(root.takeError())));
    if (Error error = readModules(directory, *root, encoder.pooling, unused))
      return error;
  }

  std::string limits = inside(directory, "sentence_bert_config.json");
  if (llvm::sys::fs::exists(limits)) {
    llvm::Expected<JsonFile> file = JsonFile::open(limits);
    if (!file)
      return file.takeError();
    if (file->has("max_seq_length")) {
      llvm::Expected<int64_t> longest = file->getSize("max_seq_length");
      if (!longest)
        return longest.takeError();
      encoder.longest = *longest;
    }
    if (Error error = file->checkNeutral("do_lower_case", "false"))
      return error;
    report(*file, file->getName(), unused);
  }
  return encoder;
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

Error mlir::tfm::importHuggingFace(StringRef directory, ModuleOp module) {
  std::string configPath = inside(directory, "config.json");
  if (!llvm::sys::fs::exists(configPath))
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        "expects a GGUF file or a Hugging Face directory, but got a directory "
        "without config.json");
  llvm::Expected<JsonFile> config = JsonFile::open(configPath);
  if (!config)
    return config.takeError();
  llvm::Expected<std::string> type = config->getString("model_type");
  if (!type)
    return type.takeError();
  if (*type != "bert")
    return config->keyError("model_type",
                            "expects \"bert\", but got " +
                                config->describeValue("model_type"));
  SmallVector<std::string> unused;
  llvm::Expected<SentenceEncoder> encoder =
      readSentenceEncoder(directory, unused);
  if (!encoder)
    return encoder.takeError();
  llvm::Expected<SafetensorsTensors> tensors =
      readSafetensorsDirectory(directory);
  if (!tensors)
    return tensors.takeError();

  int64_t context, vocabulary;
  if (Error error =
          config->getSize("max_position_embeddings").moveInto(context))
    return error;
  if (Error error = config->getSize("vocab_size").moveInto(vocabulary))
    return error;
  if (Error error =
          importTokenizerJson(directory, vocabulary, module, encoder->longest))
    return error;
  if (encoder->longest)
    context = std::min(context, *encoder->longest);
  StringRef name = llvm::sys::path::filename(directory.rtrim('/'));
  module->setAttr("tfm.model",
                  ModelAttr::get(module.getContext(), name, *type, context,
                                 vocabulary, /*bos=*/-1, /*eos=*/-1,
                                 /*addBos=*/false));
  if (Error error = importBert(*config, *tensors, encoder->pooling, module))
    return error;
  report(*config, config->getName(), unused);
  if (!unused.empty())
    emitRemark(module.getLoc()) << "unused keys: " << llvm::join(unused, ", ");
  return Error::success();
}
