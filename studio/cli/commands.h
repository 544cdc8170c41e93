// One function per command; each returns the exit code and throws Error.
#pragma once

#include <functional>

#include "profiler/database.h"
#include "studio/flags/command_line.h"
#include "studio/job/session_job.h"
#include "studio/window/window.h"

namespace ipex_studio {

// Runs the window: main passes runWindow, tests pass a stand-in.
using WindowRunner = std::function<int(const WindowOptions& options, SnapshotSource& source)>;

int runAndExport(const CommandLine& line);  // run, bench
int calibrateAndSave(const CommandLine& line);
int quantizeAndExport(const CommandLine& line);
int convertModel(const CommandLine& line);
int tunePrecision(const CommandLine& line);
int trainAndSave(const CommandLine& line);
int showGraph(const CommandLine& line);
int printPasses(const CommandLine& line);
int printDevices(const CommandLine& line);
int inspectModel(const CommandLine& line);
int verifyModels(const CommandLine& line);
int checkAgainst(const CommandLine& line);  // check
int bisectModel(const CommandLine& line);
int printCurves(const CommandLine& line);
int printValues(const CommandLine& line);
int printGeneration(const CommandLine& line);  // generate
int compareRecordedRuns(const CommandLine& line);
int writeReport(const CommandLine& line);
int listRuns(const CommandLine& line);
int importDatabase(const CommandLine& line);
int exchangeKernelTimes(const CommandLine& line);  // db kernels
int pruneDatabase(const CommandLine& line);
int nameItem(const CommandLine& line);
int pinItem(const CommandLine& line, bool pinned);
int forgetItem(const CommandLine& line);
int printCompletion(const CommandLine& line);
int serveStandardStreams();  // worker
int openStudio(const CommandLine& line, const WindowRunner& window);

// The whole program but for main: parses, runs, prints errors as "ipex-studio: sentence" and returns the exit code.
int runCommandLine(int argc, char** argv, const WindowRunner& window);

// Completion scripts without a "#!" line, made from the tree of commands and flags.
std::string bashCompletion(const CLI::App& app);
std::string zshCompletion(const CLI::App& app);

// Looks at the files that the command writes, its database among them, before any work: throws Error(kUsage) where it
// would replace one that it reads, or any other without --force, and Error(kDatabase).
void checkFiles(const CommandLine& line);

// The request of a command that answers a question about a model and keeps nothing. Throws Error(kUsage) for --dump.
JobRequest questionRequest(const CommandLine& line, const char* command);

// Says on stderr if a model has dangerous findings, and what holds it back.
void sayDangers(const CheckedModel& model, const JobRequest& request);

// Says on stderr the numbers under which a job and its runs are found again, and if the model was faster in FP32.
void sayRecorded(const Database& database, std::int64_t id, const JobRecord& record);
// Reports on stderr which files were written.
void sayExport(const CommandLine& line);

// Writes to stdout; a reader that went away is no error.
void printText(const std::string& text);

}  // namespace ipex_studio
