// The pipeline: gate, time, hash, lint, dump and report around every pass, in one place.
#include "core/graph/pipeline.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/graph/replay_text.h"

namespace ipex_studio {

using torch::jit::Graph;

namespace {

void checkNames(const std::vector<const Pass*>& passes, const OptimizeOptions& options) {
  for (const std::string& disabled : options.disabled_passes) {
    const std::string name = passOfRewrite(disabled);
    const bool known = std::any_of(passes.begin(), passes.end(), [&](const Pass* pass) { return name == pass->name; });
    if (!known) {
      throw Error(ExitCode::kUsage,
                  fmt::format("There is no pass named \"{}\"; `ipex-studio passes` lists them.", name));
    }
  }
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

// The graph before a pass, kept while there is a dump directory, in case the pass fails.
class Before {
 public:
  Before(const Pass& pass, int index, Graph& graph, const OptimizeOptions& options)
      : pass_(pass), directory_(options.dump_directory), file_(fmt::format("reproduce-{:02}-{}.ir", index, pass.name)) {
    if (!directory_.empty()) graph_ = graph.copy();
  }

  // Writes the reproducer; returns a sentence that names it.
  std::string write() const {
    if (graph_ == nullptr) return "";
    const std::string title = fmt::format("the graph before {}, which failed", pass_.name);
    writeDump(directory_, file_, fmt::format("# pass: {}\n{}", pass_.name, replayText(*graph_, title)));
    return fmt::format(" The graph before it is in {}.", file_);
  }

 private:
  const Pass& pass_;
  std::string directory_;
  std::string file_;
  std::shared_ptr<Graph> graph_;
};

Error failed(const Pass& pass, const std::exception& error, const Before& before) {
  // libtorch's messages carry a stack trace after the first line.
  const std::string message = error.what();
  return Error(ExitCode::kFailure, fmt::format("Pass {} failed: {}.{} Use --disable {} to go on without it.", pass.name,
                                               message.substr(0, message.find('\n')), before.write(), pass.name));
}

bool runOne(const Pass& pass, Graph& graph, PassContext& context, const Before& before) {
  try {
    return pass.run(graph, context);
  } catch (const Error& error) {
    if (error.code() == ExitCode::kUsage) throw;  // the request is wrong, not the pass
    throw failed(pass, error, before);
  } catch (const std::exception& error) {
    throw failed(pass, error, before);
  }
}

void verifyAfter(const Pass& pass, Graph& graph, bool changed, const PassRecord& record, const Before& before) {
  std::string wrong;
  if (changed != (record.hash_before != record.hash_after)) {
    wrong = fmt::format("pass {} said changed={} but the graph's hash says otherwise.", pass.name, changed);
  } else if (changed) {
    try {
      graph.lint();
    } catch (const std::exception& error) {
      wrong = fmt::format("pass {} left a broken graph: {}.", pass.name, error.what());
    }
  }
  IPEX_CHECK(wrong.empty(), wrong + before.write());
}

}  // namespace

RewriteCount runPipeline(Graph& graph, OriginTable& origins, const std::vector<const Pass*>& passes,
                         const OptimizeOptions& options, Observer& observer, const std::function<bool()>& cancelled) {
  checkNames(passes, options);
  Rewriter rewriter(graph, origins, options.rewrite_limit, options.disabled_passes);
  int index = 0;
  GraphIndex graph_index(graph);
  for (const Pass* pass : passes) {
    ++index;
    if (cancelled && cancelled()) throw Error(ExitCode::kFailure, "Cancelled while rewriting the graph.");
    if (isDisabled(options, pass->name)) continue;

    rewriter.beginPass(pass->name);
    PassContext context(graph, rewriter, options, graph_index);
    const std::int64_t rewrites = rewriter.rewrites();
    PassRecord record;
    record.index = index;
    record.name = pass->name;
    record.summary = pass->summary;
    record.hash_before = graph_index.hash();
    const Before before(*pass, index, graph, options);
    const auto begin = std::chrono::steady_clock::now();
    const bool changed = concerns(*pass, graph_index) && runOne(*pass, graph, context, before);
    record.elapsed_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
    // A pass that says it changed nothing is believed, except where passes are verified.
    if (changed || options.verify_passes || rewriter.rewrites() != rewrites) graph_index = GraphIndex(graph);
    record.hash_after = graph_index.hash();
    record.changed = record.hash_before != record.hash_after;
    if (options.verify_passes) verifyAfter(*pass, graph, changed, record, before);

    rewriter.remarks().visit(pass->name, [&](const Remark& remark) {
      ++(remark.kind == RemarkKind::kApplied ? record.rewrites : record.missed);
      observer.onRemark(remark);
    });
    record.nodes_after = graph_index.nodes();
    if (record.changed) {
      record.snapshot = std::make_shared<const GraphSnapshot>(makeSnapshot(graph, origins, index, pass->name));
      if (!options.dump_directory.empty()) {
        writeDump(options.dump_directory, fmt::format("{:02}-{}.ir", index, pass->name),
                  replayText(graph, fmt::format("the graph after {}", pass->name)));
      }
    }
    observer.onPass(record);
  }
  return {rewriter.rewrites(), rewriter.lastRewrite()};
}

}  // namespace ipex_studio
