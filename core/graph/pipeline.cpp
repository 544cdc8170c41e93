// Pipeline: gate, time, hash, lint, dump and report around every pass, in one place.
#include "core/graph/pipeline.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "core/plan/error.h"

namespace ipex_studio {

using torch::jit::Graph;

namespace {

void checkNames(const std::vector<const Pass*>& passes, const OptimizeOptions& options) {
  for (const std::string& name : options.disabled_passes) {
    const bool known = std::any_of(passes.begin(), passes.end(), [&](const Pass* pass) { return name == pass->name; });
    if (!known) {
      throw Error(ExitCode::kUsage,
                  fmt::format("There is no pass named \"{}\"; `ipex-studio passes` lists them.", name));
    }
  }
}

bool disabled(const Pass& pass, const OptimizeOptions& options) {
  const auto& names = options.disabled_passes;
  return std::find(names.begin(), names.end(), pass.name) != names.end();
}

void writeDump(const std::string& directory, const std::string& file, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  std::ofstream out(std::filesystem::path(directory) / file, std::ios::trunc);
  out << text;
  out.close();
  if (!out) {
    throw Error(
        ExitCode::kFailure,
        fmt::format("Cannot write \"{}\" to \"{}\"; give --dump a folder that can be written.", file, directory));
  }
}

// Runs the pass; if it throws, leaves the graph before it in the dump directory and says which pass it was.
bool runOne(const Pass& pass, int index, Graph& graph, PassContext& context, const OptimizeOptions& options) {
  const bool dump = !options.dump_directory.empty();
  const std::string before = dump ? graph.toString(false) : "";
  try {
    return pass.run(graph, context);
  } catch (const std::exception& error) {
    std::string hint;
    if (dump) {
      const std::string file = fmt::format("reproduce-{:02}-{}.ir", index, pass.name);
      writeDump(options.dump_directory, file, fmt::format("# pass: {}\n{}", pass.name, before));
      hint = fmt::format(" The graph before it is in {}.", file);
    }
    // libtorch's messages carry a stack trace after the first line.
    const std::string message = error.what();
    throw Error(ExitCode::kFailure, fmt::format("Pass {} failed: {}.{} Use --disable {} to go on without it.",
                                                pass.name, message.substr(0, message.find('\n')), hint, pass.name));
  }
}

void verifyAfter(const Pass& pass, Graph& graph, bool changed, const PassRecord& record) {
  IPEX_CHECK(changed == (record.hash_before != record.hash_after),
             fmt::format("pass {} said changed={} but the graph's hash says otherwise", pass.name, changed));
  if (!changed) return;
  try {
    graph.lint();
  } catch (const std::exception& error) {
    IPEX_CHECK(false, fmt::format("pass {} left a broken graph: {}", pass.name, error.what()));
  }
}

}  // namespace

void runPipeline(Graph& graph, OriginTable& origins, const std::vector<const Pass*>& passes,
                 const OptimizeOptions& options, Observer& observer, const std::function<bool()>& cancelled) {
  checkNames(passes, options);
  Rewriter rewriter(graph, origins, options.rewrite_limit);
  int index = 0;
  std::uint64_t hash = graphHash(graph);
  for (const Pass* pass : passes) {
    ++index;
    if (cancelled && cancelled()) throw Error(ExitCode::kFailure, "Cancelled while rewriting the graph.");
    if (disabled(*pass, options)) continue;

    rewriter.beginPass(pass->name);
    PassContext context(graph, rewriter, options);
    PassRecord record;
    record.index = index;
    record.name = pass->name;
    record.summary = pass->summary;
    record.hash_before = hash;
    const auto begin = std::chrono::steady_clock::now();
    const bool changed = runOne(*pass, index, graph, context, options);
    record.elapsed_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
    hash = graphHash(graph);
    record.hash_after = hash;
    record.changed = record.hash_before != record.hash_after;
    if (options.verify_passes) verifyAfter(*pass, graph, changed, record);

    for (const Remark& remark : rewriter.takeRemarks()) {
      ++(remark.kind == RemarkKind::kApplied ? record.rewrites : record.missed);
      observer.onRemark(remark);
    }
    record.nodes_after = countNodes(graph);
    if (record.changed) {
      record.snapshot = std::make_shared<const GraphSnapshot>(makeSnapshot(graph, origins, index, pass->name));
      if (!options.dump_directory.empty()) {
        writeDump(options.dump_directory, fmt::format("{:02}-{}.ir", index, pass->name), graph.toString(false));
      }
    }
    observer.onPass(record);
  }
}

}  // namespace ipex_studio
