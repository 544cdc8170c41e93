// The pipeline: gate, time, hash, check, dump and report around every pass, in one place.
#include "core/pipeline/pipeline.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/pipeline/graph_copy.h"
#include "core/pipeline/graph_fault.h"
#include "core/pipeline/replay_text.h"
#include "core/record/option_names.h"
#include "core/record/warning_reasons.h"
#include "core/torch/torch_error.h"

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

void checkDecisions(const OptimizeOptions& options) {
  for (const std::string& decision : options.precision_overrides) {
    const std::size_t equals = decision.rfind('=');
    const bool named = equals != std::string::npos && equals > 0;
    if (named && precisionFromName(decision.substr(equals + 1))) continue;
    throw Error(
        ExitCode::kUsage,
        fmt::format("\"{}\" decides nothing; write what and a precision, as in layer1.0.conv3=fp32.", decision));
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

// What a pass did wrong, as a clause, for each pass that was left out, by index.
using LeftOut = std::map<int, std::string>;

// One way through the passes. The reports of those that earlier ways went through are not sent again.
class PassRun {
 public:
  PassRun(Graph& graph, OriginTable& origins, const OptimizeOptions& options, Observer& observer,
          const ConstantAttributes& attributes, const std::function<void()>& record_shapes, int reported)
      : graph_(graph),
        origins_(origins),
        options_(options),
        observer_(observer),
        attributes_(attributes),
        record_shapes_(record_shapes),
        reported_(reported),
        rewriter_(graph, origins, options.rewrite_limit, options.disabled_passes),
        graph_index_(graph) {}

  // Returns false, with the clause in `fault`, if the pass threw or left a broken graph.
  bool run(const Pass& pass, int index, std::string* fault) {
    rewriter_.beginPass(pass.name);
    PassContext context(graph_, rewriter_, options_, graph_index_, attributes_, record_shapes_);
    const std::int64_t rewrites = rewriter_.rewrites();
    PassRecord record = recordOf(pass, index);
    const Before before(pass, index, graph_, options_);
    const auto begin = std::chrono::steady_clock::now();
    bool changed = false;
    try {
      changed = concerns(pass, graph_index_) && pass.run(graph_, context);
    } catch (const Error& error) {
      if (error.code() == ExitCode::kUsage) throw;  // the request is wrong, not the pass
      *fault = fmt::format("it failed: {}.", shortMessage(error)) + before.write();
      return false;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      *fault = fmt::format("it failed: {}.", shortMessage(error)) + before.write();
      return false;
    }
    record.elapsed_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
    const bool touched = changed || rewriter_.rewrites() != rewrites;
    if (touched) *fault = graphFault(graph_);
    if (!fault->empty()) {
      *fault = fmt::format("it broke the graph: {}.", *fault) + before.write();
      return false;
    }
    // A pass that says it changed nothing is believed, except where passes are verified.
    if (touched || options_.verify_passes) graph_index_ = GraphIndex(graph_);
    record.hash_after = graph_index_.hash();
    record.changed = record.hash_before != record.hash_after;
    IPEX_CHECK(!options_.verify_passes || changed == record.changed,
               fmt::format("pass {} said changed={} but the graph's hash says otherwise.{}", pass.name, changed,
                           before.write()));
    report(pass, std::move(record));
    return true;
  }

  RewriteCount rewrites() const { return {rewriter_.rewrites(), rewriter_.lastRewrite()}; }

  void leaveOut(const Pass& pass, int index, const std::string& fault) {
    rewriter_.beginPass(pass.name);
    rewriter_.missed({}, kLeftOutReason, fmt::format("Pass {} was left out: {}", pass.name, fault));
    PassRecord record = recordOf(pass, index);
    record.hash_after = record.hash_before;
    report(pass, std::move(record));
  }

 private:
  PassRecord recordOf(const Pass& pass, int index) const {
    PassRecord record;
    record.index = index;
    record.name = pass.name;
    record.summary = pass.summary;
    record.hash_before = graph_index_.hash();
    return record;
  }

  void report(const Pass& pass, PassRecord record) {
    if (record.index <= reported_) return;
    rewriter_.remarks().visit(pass.name, [&](const Remark& remark) {
      ++(remark.kind == RemarkKind::kApplied ? record.rewrites : record.missed);
      observer_.onRemark(remark);
    });
    record.nodes_after = graph_index_.nodes();
    if (record.changed) {
      record.snapshot = std::make_shared<const GraphSnapshot>(makeSnapshot(graph_, origins_, record.index, pass.name));
      if (!options_.dump_directory.empty()) {
        writeDump(options_.dump_directory, fmt::format("{:02}-{}.ir", record.index, pass.name),
                  replayText(graph_, fmt::format("the graph after {}", pass.name)));
      }
    }
    observer_.onPass(record);
  }

  Graph& graph_;
  OriginTable& origins_;
  const OptimizeOptions& options_;
  Observer& observer_;
  const ConstantAttributes& attributes_;
  const std::function<void()>& record_shapes_;
  const int reported_;  // index of the last pass that was reported before
  Rewriter rewriter_;
  GraphIndex graph_index_;
};

}  // namespace

RewriteCount runPipeline(Graph& graph, OriginTable& origins, const std::vector<const Pass*>& passes,
                         const OptimizeOptions& options, Observer& observer, const std::function<bool()>& cancelled,
                         const ConstantAttributes& attributes, const std::function<void()>& record_shapes) {
  checkNames(passes, options);
  checkDecisions(options);
  const GraphCopy beginning(graph, origins);
  LeftOut left_out;
  RewriteCount count;
  int reported = 0;
  for (bool broken = true; broken;) {
    broken = false;
    PassRun run(graph, origins, options, observer, attributes, record_shapes, reported);
    for (int index = 1; index <= static_cast<int>(passes.size()) && !broken; ++index) {
      const Pass& pass = *passes[static_cast<std::size_t>(index) - 1];
      if (cancelled && cancelled()) throw Error(ExitCode::kFailure, "Cancelled while rewriting the graph.");
      if (isDisabled(options, pass.name)) continue;
      if (const auto fault = left_out.find(index); fault != left_out.end()) {
        run.leaveOut(pass, index, fault->second);
        continue;
      }
      std::string fault;
      if (run.run(pass, index, &fault)) continue;
      broken = true;
      left_out[index] = fault;
      reported = std::max(reported, index - 1);
    }
    count = run.rewrites();
    if (broken) beginning.restore(graph, origins);
  }
  return count;
}

}  // namespace ipex_studio
