//===- Executable.cpp - Objects and weights to one file -------------------===//

#include "codegen/llvm/Executable.h"

#include "codegen/llvm/HostObject.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::tfm;

std::string tfm::getWeightAssembly(StringRef weights) {
  // Not loadable, so that programs of any size link; the runtime maps it from
  // the file, for which it starts at a page.
  return ("\t.section " + kWeightSection + ",\"\",@progbits\n" +
          "\t.balign 4096\n\t.incbin \"" + weights + "\"\n" +
          "\t.section .note.GNU-stack,\"\",@progbits\n")
      .str();
}

/// A compiler that can link, as this project is built with or else any.
static llvm::Expected<std::string> findCompiler() {
  for (StringRef name : {"clang++-22", "clang++", "g++", "c++"})
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
  return llvm::createStringError(
      "expects a C++ compiler to link with (clang++-22, clang++, g++ or c++), "
      "but found none in PATH");
}

llvm::Error tfm::link(ArrayRef<std::string> inputs, LinkedForm form,
                      StringRef runtime, StringRef output) {
  llvm::Expected<std::string> compiler = findCompiler();
  if (!compiler)
    return compiler.takeError();

  SmallString<128> partial, log;
  if (std::error_code error =
          llvm::sys::fs::createUniqueFile(output + ".%%%%%%.part", partial))
    return llvm::createStringError(error, "cannot write %s: %s",
                                   output.str().c_str(),
                                   error.message().c_str());
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("tfm-link", "log", log))
    return llvm::createStringError(error, "cannot create a temporary file: %s",
                                   error.message().c_str());

  std::string archive = (runtime + "/libtfm_runtime.a").str();
  std::string mainArchive = (runtime + "/libtfm_main.a").str();
  SmallVector<StringRef> arguments = {*compiler, "-o", partial};
  if (StringRef(*compiler).contains("clang"))
    arguments.append({"-fuse-ld=lld", "-Wno-unused-command-line-argument"});
  llvm::append_range(arguments, inputs);
  switch (form) {
  case LinkedForm::Object:
    arguments.append({"-r", "-nostdlib"});
    break;
  case LinkedForm::Library:
    arguments.append(
        {"-shared", "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"});
    break;
  case LinkedForm::Executable:
    arguments.append({mainArchive, archive});
    break;
  }
  if (form != LinkedForm::Object)
    arguments.append({"-l:libpcre2-8.a", "-l:libutf8proc.a", "-static-libgcc",
                      "-pthread", "-lm"});

  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log),
                                          StringRef(log)};
  std::string reason;
  int status = llvm::sys::ExecuteAndWait(*compiler, arguments, std::nullopt,
                                         redirects, 0, 0, &reason);
  auto said = llvm::MemoryBuffer::getFile(log);
  llvm::sys::fs::remove(log);
  std::error_code renamed;
  if (status == 0)
    renamed = llvm::sys::fs::rename(partial, output);
  if (status == 0 && !renamed)
    return llvm::Error::success();
  llvm::sys::fs::remove(partial);
  if (renamed)
    return llvm::createStringError(renamed, "cannot write %s: %s",
                                   output.str().c_str(),
                                   renamed.message().c_str());
  return llvm::createStringError(
      "%s failed to link %s: %s", compiler->c_str(), output.str().c_str(),
      said && (*said)->getBufferSize() != 0 ? (*said)->getBuffer().str().c_str()
                                            : reason.c_str());
}
