//===- Program.cpp - An opened model --------------------------------------===//
//
// See Program.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/Program.h"
#include "runtime/Cpu.h"
#include "runtime/Pool.h"
#include "runtime/Weights.h"

#include <span>

using namespace tfm;

Error Program::open(const tfm_model &model) {
  descriptor = &model;
  if (model.abi_version != TFM_ABI_VERSION)
    return "expects a model for version " + std::to_string(TFM_ABI_VERSION) +
           " of the runtime, but got version " +
           std::to_string(model.abi_version);
  if (Error error = chooseTarget())
    return error;
  for (const tfm_entry_point &entry :
       std::span(model.entry_points, model.entry_point_count))
    if (Error error = checkEntryPoint(entry))
      return error;
  if (Error error = mapWeights(findLoadedFile(&model), model.weight_section,
                               model.weight_bytes, weightPages))
    return error;
  for (const tfm_resource &resource :
       std::span(model.resources, model.resource_count))
    if (std::string_view(resource.kind) == "tokenizer")
      return textTokenizer.create(resource.data, resource.bytes,
                                  model.vocabulary);
  return {};
}

Error Program::chooseTarget() {
  uint32_t features = detectCpuFeatures();
  std::string needs;
  for (const tfm_target &target :
       std::span(descriptor->targets, descriptor->target_count)) {
    if ((target.features & ~features) == 0) {
      chosen = &target;
      return {};
    }
    needs += (needs.empty() ? "" : ", or ") + std::string(target.name) + " (" +
             describeCpuFeatures(target.features) + ")";
  }
  std::string has = describeCpuFeatures(features);
  return "the model was compiled for " + needs + ", but this processor has " +
         (has.empty() ? "none of it" : "only " + has);
}

/// Whether the runtime knows what an entry point is for.
static bool isKnown(std::string_view name) {
  return name == "prefill" || name == "decode" || name == "score" ||
         name == "embed";
}

/// The runtime calls the entry points that it knows by the names of their
/// arguments.
Error Program::checkEntryPoint(const tfm_entry_point &entry) const {
  std::string name = "entry point '" + std::string(entry.name) + "'";
  std::span arguments(entry.arguments, entry.argument_count);
  if (!isKnown(entry.name)) {
    if (arguments.size() > TFM_MAX_TENSORS)
      return name + " expects at most " + std::to_string(TFM_MAX_TENSORS) +
             " arguments, but got " + std::to_string(arguments.size());
    for (const tfm_argument &argument : arguments)
      if (argument.role == TFM_ROLE_CACHE || argument.rank > TFM_MAX_RANK)
        return name + " has an argument '" + argument.name +
               "' that the runtime cannot give it";
    return {};
  }
  if (entry.argument_count > Region::maxArguments)
    return name + " expects at most " + std::to_string(Region::maxArguments) +
           " arguments, but got " + std::to_string(entry.argument_count);
  auto is = [](const tfm_argument &argument, std::string_view name,
               tfm_role role, tfm_element element) {
    return argument.name == name && argument.role == role &&
           (role == TFM_ROLE_CACHE || argument.element == element);
  };
  for (const tfm_argument &argument : arguments)
    if (!is(argument, "tokens", TFM_ROLE_INPUT, TFM_ELEMENT_I32) &&
        !is(argument, "cache", TFM_ROLE_CACHE, TFM_ELEMENT_F32) &&
        !is(argument, "logits", TFM_ROLE_OUTPUT, TFM_ELEMENT_F32) &&
        !is(argument, "embedding", TFM_ROLE_OUTPUT, TFM_ELEMENT_F32))
      return name + " has an argument '" + argument.name +
             "' that the runtime cannot give it";
  return {};
}

const tfm_entry_point *Program::findEntryPoint(std::string_view name) const {
  for (const tfm_entry_point &entry :
       std::span(descriptor->entry_points, descriptor->entry_point_count))
    if (entry.name == name)
      return &entry;
  return nullptr;
}

const tfm_entry_point *Program::findFunction(size_t index) const {
  for (const tfm_entry_point &entry :
       std::span(descriptor->entry_points, descriptor->entry_point_count))
    if (!isKnown(entry.name) && index-- == 0)
      return &entry;
  return nullptr;
}

static tfm_tensor describe(const tfm_argument &argument) {
  tfm_tensor tensor = {argument.name, argument.element, argument.rank, {}, {}};
  for (int32_t i = 0; i < argument.rank; ++i)
    tensor.dims[i] = argument.dims[i] < 0 ? -1 : argument.dims[i];
  return tensor;
}

Error Program::describeFunction(size_t index, tfm_signature &signature) const {
  const tfm_entry_point *entry = findFunction(index);
  if (!entry)
    return "the model has no function " + std::to_string(index);
  signature = {entry->name, 0, 0, {}, {}};
  for (const tfm_argument &argument :
       std::span(entry->arguments, entry->argument_count))
    if (argument.role == TFM_ROLE_OUTPUT)
      signature.outputs[signature.output_count++] = describe(argument);
    else
      signature.inputs[signature.input_count++] = describe(argument);
  return {};
}

int32_t Program::embeddingSize() const {
  const tfm_entry_point *entry = findEntryPoint("embed");
  if (!entry)
    return 0;
  const tfm_argument &output = entry->arguments[entry->argument_count - 1];
  return static_cast<int32_t>(output.dims[output.rank - 1]);
}

Error Program::encode(std::string_view text, std::vector<int32_t> &ids) const {
  auto begin = static_cast<ptrdiff_t>(ids.size());
  if (Error error = textTokenizer.encode(text, ids))
    return error;
  auto first = ids.begin() + begin;
  int32_t bos = descriptor->bos_token;
  if (descriptor->add_bos && bos >= 0 && (first == ids.end() || *first != bos))
    ids.insert(first, bos);
  return {};
}
