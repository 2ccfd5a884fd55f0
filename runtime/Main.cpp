//===- Main.cpp - The command line of a compiled model --------------------===//
//
// Reads options and prompts, calls tfm.h, prints text or JSON. Exit codes:
// 0 ok, or nobody reads the output any more; 1 a failure; 2 wrong usage; 130
// ended by Ctrl-C.
//
//===----------------------------------------------------------------------===//

#include "runtime/Bench.h"
#include "runtime/Npy.h"
#include "runtime/include/tfm.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

using namespace tfm;
using Json = nlohmann::ordered_json;
using Ids = std::vector<int32_t>;

namespace {

enum ExitCode { Ok = 0, Failure = 1, Usage = 2, Interrupted = 130 };

/// Samples that --batch runs side by side.
constexpr int32_t batchWidth = 8;

/// The most that is read of standard input or of a file.
constexpr size_t mostBytes = size_t(256) << 20;

struct Options {
  std::optional<std::string> prompt;
  int32_t maxNewTokens = 128;
  tfm_sampling sampling = {0, 0, 1, 1, 0};
  tfm_session_options session = {};
  std::optional<std::string> batchFile, idsFile;
  std::optional<std::string> function;
  std::vector<std::string> inputs, outputs; ///< NAME=FILE
  bool json = false, tokenize = false, score = false, embed = false;
  bool bench = false, info = false;
};

/// Ends the program with a message.
struct Stop {
  ExitCode code;
  std::string message;
};

[[noreturn]] void fail(const std::string &message) {
  throw Stop{Failure, message};
}

/// `where` is what the message starts with.
void check(int result, const std::string &where = "") {
  if (result)
    fail(where + tfm_error());
}

/// Standard output. A reader that has gone away ends the program quietly.
void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
      std::fflush(stdout) == 0)
    return;
  if (errno == EPIPE)
    throw Stop{Ok, ""};
  fail(std::string("cannot write the output: ") + std::strerror(errno));
}

void printJson(const Json &json) {
  // Bytes that are not UTF-8 cannot stand in JSON.
  print(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

struct CloseProgram {
  void operator()(tfm_program *program) const { tfm_close(program); }
};
using Program = std::unique_ptr<tfm_program, CloseProgram>;

//===----------------------------------------------------------------------===//
// Ctrl-C
//===----------------------------------------------------------------------===//

std::atomic<tfm_session *> interruptible = nullptr;
std::atomic<bool> interrupted = false;

void interrupt(int) {
  interrupted = true;
  if (tfm_session *session = interruptible)
    tfm_cancel(session);
}

/// A session that Ctrl-C cancels.
class Session {
public:
  Session(const Program &program, const tfm_session_options &options) {
    check(tfm_session_create(program.get(), &options, &session));
    interruptible = session;
    if (interrupted) // before there was something to cancel
      tfm_cancel(session);
  }
  ~Session() {
    interruptible = nullptr;
    tfm_session_destroy(session);
  }
  tfm_session *get() const { return session; }

private:
  tfm_session *session;
};

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

std::string readAll(std::FILE *file, const std::string &name) {
  std::string text;
  std::vector<char> piece(1 << 16);
  while (size_t bytes = std::fread(piece.data(), 1, piece.size(), file)) {
    text.append(piece.data(), bytes);
    if (text.size() > mostBytes)
      fail(name + ": expects at most " + std::to_string(mostBytes) + " bytes");
  }
  if (interrupted)
    throw Stop{Interrupted, ""};
  if (std::ferror(file))
    fail(name + ": " + std::strerror(errno));
  return text;
}

std::string readFile(const std::string &path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(
      std::fopen(path.c_str(), "re"), std::fclose);
  if (!file)
    fail(path + ": " + std::strerror(errno));
  return readAll(file.get(), path);
}

std::string readPrompt(const Options &options) {
  if (options.prompt)
    return *options.prompt;
  if (isatty(STDIN_FILENO))
    throw Stop{Usage, "expects a prompt, as an argument or on standard input "
                      "(see --help)"};
  return readAll(stdin, "standard input");
}

/// The value of option `name`: a finite number of at least `least`.
template <typename Number>
Number parseNumber(const std::string &name, const std::string &text,
                   Number least) {
  Number value;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && rest == end && std::isfinite(value) &&
      value >= least)
    return value;
  std::ostringstream message;
  message << name << ": expects a ";
  if constexpr (std::is_integral_v<Number>)
    message << "whole number from " << least << " to "
            << std::numeric_limits<Number>::max();
  else
    message << "number of at least " << least;
  message << ", but got '" << text << "'";
  throw Stop{Usage, message.str()};
}

//===----------------------------------------------------------------------===//
// What can be asked for
//===----------------------------------------------------------------------===//

Options parse(int argc, char **argv) {
  Options options;
  CLI::App app("Continues a text with the language model in this file, and "
               "prints the\ncontinuation. Without TEXT standard input is the "
               "prompt, taken as it is.\n\nDefaults are in brackets.");
  app.footer("Example: " + std::string(argv[0]) +
             " -n 40 --temperature 0.8 \"The capital of France is\"\n\n"
             "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 ended by "
             "Ctrl-C");
  app.get_formatter()->column_width(24);
  app.get_formatter()->label("Positionals", "Argument");
  auto addText = [&](const char *name, std::optional<std::string> &value,
                     const char *type, const char *help) {
    return app.add_option(name, value, help)->option_text(type);
  };
  auto addNumber = [&](const char *name, auto &value, const char *type,
                       const char *help, std::decay_t<decltype(value)> least) {
    app.add_option_function<std::string>(
           name,
           [name, least, &value](const std::string &text) {
             value = parseNumber(name, text, least);
           },
           help)
        ->option_text(type);
  };
  auto addFlag = [&](const char *name, bool &value, const char *help) {
    return app.add_flag(name, value, help)->option_text(" ");
  };
  CLI::Option *prompt = addText("TEXT", options.prompt, " ", "the prompt");
  addNumber("-n", options.maxNewTokens, "N", "most new tokens (128)", 0);
  addNumber("--temperature", options.sampling.temperature, "T",
            "0: most probable token; else draw (0)", 0);
  addNumber("--top-k", options.sampling.top_k, "K",
            "draw from the K best tokens (0: all)", 0);
  addNumber("--top-p", options.sampling.top_p, "P",
            "draw from the best tokens that sum to P (1)", 0);
  addNumber("--repeat-penalty", options.sampling.repeat_penalty, "X",
            "make tokens seen before less probable (1: no)", 0);
  addNumber("--seed", options.sampling.seed, "N", "where draws start (0)", 0);
  addNumber("--ctx", options.session.context, "N",
            "most tokens of prompt and continuation (the model's)", 1);
  addNumber("--threads", options.session.threads, "N",
            "threads that compute (one per core)", 1);
  addNumber("--prefill-chunk", options.session.prefill_chunk, "N",
            "prompt tokens per step (256)", 1);
  addFlag("--json", options.json, "print a JSON object, not text");
  CLI::Option *batch =
      addText("--batch", options.batchFile, "FILE",
              "each line of FILE is a text; prints JSON lines");
  CLI::Option *tokenize =
      addFlag("--tokenize", options.tokenize, "print the prompt's token ids");
  CLI::Option *score = addFlag("--score", options.score,
                               "print how probable the prompt's tokens are");
  CLI::Option *ids = addText("--ids", options.idsFile, "FILE",
                             "score the token ids in FILE, a JSON array");
  ids->needs(score);
  addFlag("--embed", options.embed,
          "print the text's embedding, in a model that makes them")
      ->excludes(tokenize)
      ->excludes(score);
  CLI::Option *bench =
      addFlag("--bench", options.bench, "measure how fast the model runs here");
  CLI::Option *info = addFlag("--info", options.info,
                              "describe the model and what memory it takes");
  addText("--function", options.function, "NAME",
          "the function to run on --input (the only one)");
  app.add_option("--input", options.inputs,
                 "give the function's input NAME the array in a .npy file")
      ->option_text("NAME=FILE");
  CLI::Option *output =
      app.add_option("--output", options.outputs,
                     "write the function's output NAME to a .npy file")
          ->option_text("NAME=FILE");
  app.set_help_flag("-h,--help", "this page");
  const std::vector<CLI::Option *> modes = {batch, tokenize, score, bench,
                                            info};
  for (CLI::Option *mode : modes)
    for (CLI::Option *other : modes)
      if (mode != other)
        mode->excludes(other);
  for (CLI::Option *other : {batch, ids, bench, info, output})
    prompt->excludes(other);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    print(app.help());
    throw Stop{Ok, ""};
  } catch (const CLI::ParseError &error) {
    throw Stop{Usage, error.what()};
  }
  return options;
}

Ids tokenize(const Program &program, std::string_view text) {
  // Few texts have more tokens than bytes.
  Ids ids(text.size() + 1);
  size_t count;
  auto tokenizeInto = [&] {
    check(tfm_tokenize(program.get(), text.data(), text.size(), ids.data(),
                       ids.size(), &count));
  };
  tokenizeInto();
  if (count > ids.size()) {
    ids.resize(count);
    tokenizeInto();
  }
  ids.resize(count);
  ids.shrink_to_fit();
  return ids;
}

void runTokenize(const Program &program, const Options &options) {
  Ids ids = tokenize(program, readPrompt(options));
  if (options.json)
    return printJson({{"ids", ids}});
  std::string line;
  for (int32_t id : ids)
    line += (line.empty() ? "" : " ") + std::to_string(id);
  print(line + "\n");
}

//===----------------------------------------------------------------------===//
// Continuing prompts
//===----------------------------------------------------------------------===//

/// The continuation of a prompt as it comes in.
struct Continuation {
  Ids promptIds, newIds;
  std::string text;
  std::optional<tfm_stop> stop;

  Json toJson() const {
    static constexpr const char *stops[] = {"eos", "length", "context",
                                            "cancelled"};
    return {{"prompt_ids", promptIds},
            {"new_ids", newIds},
            {"text", text},
            {"stop", stops[*stop]}};
  }
};

/// Collects tokens; streams text, or prints JSON in the prompts' order.
struct Writer {
  bool stream;
  std::vector<Continuation> continuations;
  size_t printed = 0;
  std::optional<Stop> failure; ///< nothing is thrown through the C functions

  void add(const tfm_token &token) {
    Continuation &continuation = continuations[token.prompt];
    if (token.id >= 0)
      continuation.newIds.push_back(token.id);
    continuation.text.append(token.text, token.bytes);
    if (token.finished)
      continuation.stop = token.stop;
    if (stream)
      return print({token.text, token.bytes});
    for (; printed < continuations.size() && continuations[printed].stop;
         ++printed)
      printJson(continuations[printed].toJson());
  }

  static int callback(void *user, const tfm_token *token) {
    Writer &writer = *static_cast<Writer *>(user);
    if (!writer.failure) {
      try {
        writer.add(*token);
      } catch (const Stop &stop) {
        writer.failure = stop;
      }
    }
    return writer.failure.has_value();
  }
};

void generate(const Program &program, const Options &options,
              const std::vector<std::string> &texts, bool stream,
              const std::string &where = "") {
  Writer writer = {stream, {}, 0, {}};
  std::vector<tfm_prompt> prompts;
  writer.continuations.resize(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    Ids &ids = writer.continuations[i].promptIds;
    ids = tokenize(program, texts[i]);
    prompts.push_back({ids.data(), ids.size()});
  }
  tfm_session_options sessionOptions = options.session;
  sessionOptions.batch =
      std::min(batchWidth, static_cast<int32_t>(prompts.size()));
  Session session(program, sessionOptions);
  check(tfm_generate(session.get(), prompts.data(), prompts.size(),
                     options.maxNewTokens, &options.sampling, Writer::callback,
                     &writer),
        where);
  if (writer.failure)
    throw *writer.failure;
  if (!stream)
    return;
  print("\n");
  if (writer.continuations[0].stop == TFM_STOP_CONTEXT)
    std::fputs("note: the context is full (see --ctx)\n", stderr);
}

//===----------------------------------------------------------------------===//
// Embeddings
//===----------------------------------------------------------------------===//

/// The shortest digits that give the number back.
std::string toText(float number) {
  char digits[32];
  return {digits, std::to_chars(digits, std::end(digits), number).ptr};
}

void embed(const Program &program, const Options &options,
           const std::vector<std::string> &texts, bool json,
           const std::string &where = "") {
  tfm_info info;
  tfm_get_info(program.get(), &info);
  auto size = static_cast<size_t>(info.embedding);
  std::vector<Ids> ids;
  std::vector<tfm_prompt> prompts;
  auto most = static_cast<size_t>(
      options.session.context ? options.session.context : info.context);
  for (size_t i = 0; i < texts.size(); ++i) {
    Ids &text = ids.emplace_back(tokenize(program, texts[i]));
    size_t count = text.size();
    text.resize(tfm_truncate(program.get(), text.data(), count, most));
    if (text.size() < count)
      std::fprintf(stderr,
                   "note: text %zu has %zu tokens, of which %zu are "
                   "used\n",
                   i + 1, count, text.size());
  }
  for (const Ids &text : ids)
    prompts.push_back({text.data(), text.size()});
  tfm_session_options sessionOptions = options.session;
  sessionOptions.batch =
      std::min(batchWidth, static_cast<int32_t>(prompts.size()));
  Session session(program, sessionOptions);
  std::vector<float> embeddings(prompts.size() * size);
  check(tfm_embed(session.get(), prompts.data(), prompts.size(),
                  embeddings.data()),
        where);
  for (size_t i = 0; i < texts.size(); ++i) {
    const float *first = &embeddings[i * size];
    if (json) {
      printJson({{"ids", ids[i]},
                 {"embedding", std::vector<float>(first, first + size)}});
      continue;
    }
    std::string line;
    for (size_t e = 0; e < size; ++e)
      line += (e == 0 ? "" : " ") + toText(first[e]);
    print(line + "\n");
  }
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

struct NamedFile {
  std::string name, path;
};

NamedFile parseNamedFile(const std::string &option, const std::string &text) {
  size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    throw Stop{Usage, option + ": expects NAME=FILE, but got '" + text + "'"};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// Writes a file as a whole or not at all.
void writeFile(const std::string &path, const std::string &bytes) {
  std::string partial = path + ".part";
  std::FILE *file = std::fopen(partial.c_str(), "we");
  bool ok =
      file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  int error = errno;
  if (file && std::fclose(file) != 0 && ok) {
    ok = false;
    error = errno;
  }
  if (ok && std::rename(partial.c_str(), path.c_str()) == 0)
    return;
  if (ok)
    error = errno;
  std::remove(partial.c_str());
  fail(path + ": " + std::strerror(error));
}

/// The function that --function names, or the only one.
tfm_signature findFunction(const Program &program, const Options &options) {
  tfm_signature found;
  std::string names;
  size_t count = 0;
  tfm_signature signature;
  for (; tfm_get_function(program.get(), count, &signature) == 0; ++count) {
    names += (count ? ", " : "") + std::string(signature.name);
    if (!options.function || *options.function == signature.name)
      found = signature;
    if (options.function && *options.function == signature.name)
      return found;
  }
  if (count == 0)
    fail("the model has no function of arrays");
  if (options.function)
    fail("expects one of the functions " + names + ", but got '" +
         *options.function + "'");
  if (count > 1)
    fail("expects --function to name one of " + names);
  return found;
}

void runFunction(const Program &program, const Options &options) {
  tfm_signature signature = findFunction(program, options);
  std::vector<NamedFile> inputFiles, outputFiles;
  for (const std::string &text : options.inputs)
    inputFiles.push_back(parseNamedFile("--input", text));
  for (const std::string &text : options.outputs)
    outputFiles.push_back(parseNamedFile("--output", text));
  for (const NamedFile &file : outputFiles)
    if (std::none_of(
            signature.outputs, signature.outputs + signature.output_count,
            [&](const tfm_tensor &output) { return file.name == output.name; }))
      fail("the function '" + std::string(signature.name) +
           "' has no output '" + file.name + "'");

  std::vector<std::string> contents;
  std::vector<tfm_tensor> inputs;
  for (const NamedFile &file : inputFiles)
    contents.push_back(readFile(file.path));
  for (size_t i = 0; i < inputFiles.size(); ++i) {
    tfm_tensor &input = inputs.emplace_back();
    if (Error error = readNpy(contents[i], input))
      fail(inputFiles[i].path + ": " + error.message());
    input.name = inputFiles[i].name.c_str();
  }
  Session session(program, options.session);
  tfm_tensor outputs[TFM_MAX_TENSORS];
  check(tfm_run(session.get(), signature.name, inputs.data(), inputs.size(),
                outputs));
  for (const NamedFile &file : outputFiles)
    for (size_t i = 0; i < signature.output_count; ++i)
      if (file.name == outputs[i].name)
        writeFile(file.path, writeNpy(outputs[i]));
}

//===----------------------------------------------------------------------===//
// Either
//===----------------------------------------------------------------------===//

/// Whether the model is to make embeddings rather than text.
bool embeds(const Program &program, const Options &options) {
  tfm_info info;
  tfm_get_info(program.get(), &info);
  if (options.embed && info.embedding == 0)
    fail("the model makes no embeddings");
  return info.embedding != 0;
}

void runText(const Program &program, const Options &options) {
  if (embeds(program, options))
    embed(program, options, {readPrompt(options)}, options.json);
  else
    generate(program, options, {readPrompt(options)}, !options.json);
}

void runBatch(const Program &program, const Options &options) {
  std::vector<std::string> lines;
  const std::string &path = *options.batchFile;
  std::istringstream file(readFile(path));
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  if (lines.empty())
    return;
  if (embeds(program, options))
    embed(program, options, lines, true, path + ": ");
  else
    generate(program, options, lines, false, path + ": ");
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

void runScore(const Program &program, const Options &options) {
  Ids ids;
  if (!options.idsFile) {
    ids = tokenize(program, readPrompt(options));
  } else {
    Json json = Json::parse(readFile(*options.idsFile), nullptr, false);
    if (!json.is_array() ||
        !std::all_of(json.begin(), json.end(), [](const Json &id) {
          return id.is_number_integer() && id >= INT32_MIN && id <= INT32_MAX;
        }))
      fail(*options.idsFile + ": expects a JSON array of token ids");
    ids = json.get<Ids>();
  }
  if (ids.size() < 2)
    fail("expects at least 2 tokens to score, but got " +
         std::to_string(ids.size()));
  Session session(program, options.session);
  std::vector<double> logprobs(ids.size() - 1);
  Ids argmax(ids.size());
  check(tfm_score(session.get(), 0, ids.data(), ids.size(), logprobs.data(),
                  argmax.data()));
  if (options.json)
    return printJson(
        {{"ids", ids}, {"logprobs", logprobs}, {"argmax", argmax}});
  double sum = 0;
  for (double logprob : logprobs)
    sum -= logprob;
  double mean = sum / double(logprobs.size());
  char line[160];
  std::snprintf(line, sizeof line,
                "tokens %zu, mean negative log-likelihood %.4f, perplexity "
                "%.2f\n",
                ids.size(), mean, std::exp(mean));
  print(line);
}

void runBench(const Program &program, const Options &options) {
  tfm_info info;
  tfm_get_info(program.get(), &info);
  BenchResult result;
  if (Error error = tfm::runBench(program.get(), options.session, result))
    fail(error.message());
  double gigabytes = result.readBytesPerSecond / 1e9;
  double gigaflops = result.flopsPerSecond / 1e9;
  if (options.json) {
    Json speeds;
    if (info.embedding)
      speeds = {{"embed_texts_per_s", result.embedTextsPerSecond},
                {"tokens_per_text", result.embedTokens}};
    else
      speeds = {{"prefill_tokens_per_s", result.prefillTokensPerSecond},
                {"decode_tokens_per_s", result.decodeTokensPerSecond},
                {"bytes_per_token", info.weight_bytes}};
    speeds.update({{"read_gb_per_s_limit", gigabytes},
                   {"peak_gflops", gigaflops},
                   {"threads", result.threads},
                   {"isa", info.isa}});
    return printJson(speeds);
  }
  char text[512];
  if (info.embedding) {
    std::snprintf(text, sizeof text,
                  "embed %d tokens: %.1f texts/s, %.2f ms each\n",
                  result.embedTokens, result.embedTextsPerSecond,
                  1e3 / result.embedTextsPerSecond);
  } else {
    double megabytes = double(info.weight_bytes) / 1e6;
    std::snprintf(text, sizeof text,
                  "prefill %d tokens: %.1f tokens/s\n"
                  "decode %d tokens: %.1f tokens/s, reading %.1f MB of weights "
                  "each: %.1f GB/s\n",
                  benchPrefillTokens, result.prefillTokensPerSecond,
                  benchDecodeTokens, result.decodeTokensPerSecond, megabytes,
                  result.decodeTokensPerSecond * megabytes / 1e3);
  }
  print(text);
  std::snprintf(text, sizeof text,
                "limits of %d threads: %.1f GB/s read, %.0f GFLOP/s (%s)\n",
                result.threads, gigabytes, gigaflops, info.isa);
  print(text);
}

void runInfo(const Program &program) {
  tfm_info info;
  tfm_get_info(program.get(), &info);
  char text[1024];
  std::snprintf(text, sizeof text,
                "%s (%s), compiled by %s\n"
                "context %d tokens, vocabulary %d, weights %.1f MB\n"
                "running on %s\n",
                info.name, info.architecture, info.compiler, info.context,
                info.vocabulary, double(info.weight_bytes) / 1e6, info.isa);
  print(text);
  print(info.summary);
}

void run(int argc, char **argv) {
  Options options = parse(argc, argv);
  tfm_program *opened;
  check(tfm_open(&opened));
  Program program(opened);
  if (options.info)
    runInfo(program);
  else if (options.bench)
    runBench(program, options);
  else if (options.tokenize)
    runTokenize(program, options);
  else if (options.score)
    runScore(program, options);
  else if (options.batchFile)
    runBatch(program, options);
  else if (!options.inputs.empty() || !options.outputs.empty())
    runFunction(program, options);
  else
    runText(program, options);
}

} // namespace

int main(int argc, char **argv) {
  struct sigaction action = {};
  action.sa_handler = interrupt;
  action.sa_flags = SA_RESETHAND; // a second Ctrl-C ends the program at once
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN); // seen as a failed write
  try {
    run(argc, argv);
  } catch (const Stop &stop) {
    if (!interrupted && !stop.message.empty())
      std::fprintf(stderr, "error: %s\n", stop.message.c_str());
    if (!interrupted)
      return stop.code;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return Failure;
  }
  return interrupted ? Interrupted : Ok;
}
