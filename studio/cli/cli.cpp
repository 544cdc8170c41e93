// Dispatches commands to their functions, and prints errors.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>

#include "core/base/error.h"
#include "studio/cli/commands.h"
#include "studio/job/session_worker.h"
#include "studio/protocol/protocol.h"

namespace ipex_studio {
namespace {

int dispatch(const CommandLine& line, const WindowRunner& window) {
  switch (line.kind) {
    case CommandKind::kStudio:
      return openStudio(line, window);
    case CommandKind::kRun:
    case CommandKind::kBench:
      return runAndExport(line);
    case CommandKind::kCalibrate:
      return calibrateAndSave(line);
    case CommandKind::kQuantize:
      return quantizeAndExport(line);
    case CommandKind::kConvert:
      return convertModel(line);
    case CommandKind::kTune:
      return tunePrecision(line);
    case CommandKind::kTrain:
      return trainAndSave(line);
    case CommandKind::kShow:
      return showGraph(line);
    case CommandKind::kPasses:
      return printPasses(line);
    case CommandKind::kDevices:
      return printDevices(line);
    case CommandKind::kInspect:
      return inspectModel(line);
    case CommandKind::kVerify:
      return verifyModels(line);
    case CommandKind::kCheck:
      return checkAgainst(line);
    case CommandKind::kBisect:
      return bisectModel(line);
    case CommandKind::kCurves:
      return printCurves(line);
    case CommandKind::kValues:
      return printValues(line);
    case CommandKind::kGenerate:
      return printGeneration(line);
    case CommandKind::kCompare:
      return compareRecordedRuns(line);
    case CommandKind::kReport:
      return writeReport(line);
    case CommandKind::kImport:
      return importDatabase(line);
    case CommandKind::kKernelTimes:
      return exchangeKernelTimes(line);
    case CommandKind::kList:
      return listRuns(line);
    case CommandKind::kPrune:
      return pruneDatabase(line);
    case CommandKind::kName:
      return nameItem(line);
    case CommandKind::kPin:
      return pinItem(line, true);
    case CommandKind::kUnpin:
      return pinItem(line, false);
    case CommandKind::kForget:
      return forgetItem(line);
    case CommandKind::kCompletion:
      return printCompletion(line);
    case CommandKind::kWorker:
      return serveStandardStreams();
  }
  return static_cast<int>(ExitCode::kFailure);
}

}  // namespace

// Frames alone may use stdout; everything else that is printed goes to stderr.
int serveStandardStreams() {
  const UniqueFd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!out || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw Error(ExitCode::kFailure, "The standard output is closed.");
  return serveWorker(STDIN_FILENO, out.get());
}

void printText(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int runCommandLine(int argc, char** argv, const WindowRunner& window) {
  // A pipe without a reader (`… | head`) makes writes fail instead of ending the program.
  ::signal(SIGPIPE, SIG_IGN);
  CommandLine line;
  try {
    if (const auto code = parseCommandLine(argc, argv, line)) return *code;
    checkFiles(line);
    return dispatch(line, window);
  } catch (const Error& error) {
    std::fprintf(stderr, "ipex-studio: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "ipex-studio: There is not enough memory.\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ipex-studio: %s\n", error.what());
  }
  return static_cast<int>(ExitCode::kFailure);
}

}  // namespace ipex_studio
