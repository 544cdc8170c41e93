// Chrome trace and CSV, one line of text per event or step. Lines are appended by hand, since there are hundreds of
// thousands.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>

#include "core/record/records_json.h"
#include "core/record/step_place.h"
#include "profiler/export/export_json.h"
#include "profiler/summary.h"

namespace ipex_studio {
namespace {

std::string quotedJson(const std::string& text) { return dumpJson(nlohmann::json(text)); }

// The tracks of a run's events: an instance has one for each place that it ran steps in.
class Tracks {
 public:
  explicit Tracks(const RunRecord& run) {
    for (const StepRecord& step : run.steps) steps_.emplace(step.index, &step);
    for (const StepTime& time : run.step_times) instances_ = std::max(instances_, std::int64_t{time.thread} + 1);
  }
  const StepRecord* step(const StepTime& time) const {
    const auto found = steps_.find(time.step);
    return found == steps_.end() ? nullptr : found->second;
  }
  // The "tid" of a trace: that of the instance on the host, else one beyond all of these.
  std::int64_t id(const StepTime& time) const {
    return time.thread + instances_ * static_cast<std::int64_t>(place(step(time)));
  }
  std::string name(const StepTime& time) const {
    const StepRecord* const ran = step(time);
    const StepPlace at = place(ran);
    return fmt::format("instance {}{}", time.thread,
                       at == StepPlace::kHost     ? ""
                       : at == StepPlace::kDevice ? " on " + ran->device
                                                  : ", copies");
  }

 private:
  static StepPlace place(const StepRecord* step) { return step == nullptr ? StepPlace::kHost : placeOf(*step); }

  std::unordered_map<std::int32_t, const StepRecord*> steps_;
  std::int64_t instances_ = 0;
};

void appendNames(const RunRecord& run, const Tracks& tracks, std::size_t process, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":{}}}}},\n", process,
                 quotedJson(fmt::format("{} · {} · {} threads", run.variant, run.precision, run.threads)));
  std::map<std::int64_t, std::string> names;
  for (const StepTime& time : run.step_times) names.emplace(tracks.id(time), tracks.name(time));
  for (const auto& [track, name] : names) {
    fmt::format_to(std::back_inserter(out),
                   "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}},\n",
                   process, track, quotedJson(name));
  }
}

void appendEvents(const RunRecord& run, const Tracks& tracks, std::size_t process, std::string& out) {
  for (const StepTime& time : run.step_times) {
    const StepRecord* step = tracks.step(time);
    nlohmann::json args = nlohmann::json::object();
    if (step) {
      args = {{"kernel", step->kernel},   {"implementation", step->implementation},
              {"device", step->device},   {"layout", step->dst_layout},
              {"shape", step->dst_shape}, {"micro_batches", step->micro_batches},
              {"step", step->index}};
    }
    const std::string head = fmt::format("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"name\":{},\"cat\":{},\"args\":{},",
                                         process, tracks.id(time), quotedJson(step ? step->name : time.name),
                                         quotedJson(step ? step->kind : time.kind), dumpJson(args));
    const std::vector<std::int64_t>& whole = time.whole_ns.empty() ? time.elapsed_ns : time.whole_ns;
    for (std::size_t i = 0; i < time.begin_ns.size(); ++i) {
      out += head;
      fmt::format_to(std::back_inserter(out), "\"ts\":{:.3f},\"dur\":{:.3f}}},\n",
                     static_cast<double>(time.begin_ns[i]) / 1e3, static_cast<double>(whole[i]) / 1e3);
    }
  }
}

std::string cell(const std::string& text) {
  std::string safe = text;
  if (!safe.empty() && std::string_view("=+-@\t\r\n").find(safe.front()) != std::string_view::npos)
    safe.insert(0, 1, '\'');
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string traceJson(const JobRecord& job) {
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (std::size_t i = 0; i < job.runs.size(); ++i) {
    const Tracks tracks(job.runs[i]);
    appendNames(job.runs[i], tracks, i + 1, out);
    appendEvents(job.runs[i], tracks, i + 1, out);
  }
  if (!job.runs.empty()) out.erase(out.size() - 2);  // the last comma
  out += "\n]}\n";
  return out;
}

std::string stepsCsv(const JobRecord& job) {
  std::string out =
      "run,variant,precision,threads,step,name,kind,kernel,implementation,src_layout,dst_layout,dst_shape,micro_"
      "batches,"
      "step_precision,"
      "samples,p50_ns,p99_ns,share,flops,gflops_per_s,device\r\n";
  for (std::size_t i = 0; i < job.runs.size(); ++i) {
    const RunRecord& run = job.runs[i];
    for (const StepSummary& s : digestOf(run).steps) {
      fmt::format_to(
          std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{:.6f},{},{:.3f},{}\r\n", i + 1,
          cell(run.variant), cell(run.precision), run.threads, s.step, cell(s.name), cell(s.kind), cell(s.kernel),
          cell(s.implementation), cell(s.src_layout), cell(s.dst_layout), cell(s.dst_shape), s.micro_batches,
          cell(s.precision), s.samples, s.p50_ns, s.p99_ns, s.share, s.flops, s.gflops_per_s, cell(s.device));
    }
  }
  return out;
}

}  // namespace ipex_studio
