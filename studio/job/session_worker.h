// Models on other machines: how a worker is named, and what both ends of the connection do.
//
// `ssh://[user@]host[:port]/path/model.pt` starts `ssh -T host ipex-studio worker`; any other command can be given.
// Frames as in protocol.h go over its standard input and output. To the worker: start (model, threads, trust), then all
// that goes to an engine. From the worker: opened (hash, size, findings, machine, precisions), all messages of the
// engine, and, before the result of an export, the file in pieces. The model's name travels in a frame, so no shell
// ever reads it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studio/job/session_files.h"

namespace ipex_studio {

struct RemoteModel {
  std::vector<std::string> worker;
  std::string path;
};

// Reads a model's name; nullopt if it does not begin with ssh://. Throws Error(kUsage) if it does and names no file.
std::optional<RemoteModel> parseRemote(const std::string& text);

// Splits a command into words; '…' and "…" hold words together. Throws Error(kUsage) if a quote stays open.
std::vector<std::string> splitCommand(const std::string& text);

// Checks a model here with checkModel(), or through a worker: `worker`, or the one that an ssh:// name asks for.
// Throws Error.
CheckedModel openModel(const std::string& path, const std::vector<std::string>& worker,
                       const Cancellation& cancellation);

// The far end of a worker connection: serves one model to the program that writes frames to `in`, until that end
// closes. Returns the exit code.
int serveWorker(int in, int out);

}  // namespace ipex_studio
