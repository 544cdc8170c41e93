// Lists the fields of every record once, for reading and for writing: visitor(name, member, range). Private to
// records_json.cpp.
#pragma once

#include "core/record/argument_record.h"
#include "core/record/bisect_record.h"
#include "core/record/device_record.h"
#include "core/record/generation_record.h"
#include "core/record/source_record.h"
#include "core/record/value_record.h"

namespace ipex_studio {

// Range of a field's value, beyond its type.
enum class Range { kAny, kNonNegative, kAtLeastMinusOne, kText };

template <class V>
void describe(V& v, Origin& r) {
  v("id", r.id, Range::kNonNegative);
  v("module_path", r.module_path);
  v("kind", r.kind);
  v("ordinal", r.ordinal, Range::kNonNegative);
  v("source", r.source);
}

template <class V>
void describe(V& v, Remark& r) {
  v("pass", r.pass);
  v("kind", r.kind);
  v("reason", r.reason);
  v("text", r.text);
  v("origins", r.origins, Range::kNonNegative);
}

template <class V>
void describe(V& v, GraphValue& r) {
  v("id", r.id, Range::kNonNegative);
  v("name", r.name);
  v("type", r.type);
  v("producer", r.producer, Range::kAtLeastMinusOne);
  v("constant", r.constant);
}

template <class V>
void describe(V& v, GraphNode& r) {
  v("id", r.id, Range::kNonNegative);
  v("parent", r.parent, Range::kAtLeastMinusOne);
  v("kind", r.kind);
  v("name", r.name);
  v("scope", r.scope);
  v("origins", r.origins, Range::kNonNegative);
  v("inputs", r.inputs, Range::kNonNegative);
  v("outputs", r.outputs, Range::kNonNegative);
  v("attributes", r.attributes);
}

template <class V>
void describe(V& v, GraphSnapshot& r) {
  v("pass_index", r.pass_index, Range::kNonNegative);
  v("after_pass", r.after_pass);
  v("values", r.values);
  v("nodes", r.nodes);
  v("inputs", r.inputs, Range::kNonNegative);
  v("outputs", r.outputs, Range::kNonNegative);
  v("text", r.text, Range::kText);
}

template <class V>
void describe(V& v, PassRecord& r) {
  v("index", r.index, Range::kNonNegative);
  v("name", r.name);
  v("summary", r.summary);
  v("changed", r.changed);
  v("rewrites", r.rewrites, Range::kNonNegative);
  v("missed", r.missed, Range::kNonNegative);
  v("elapsed_ns", r.elapsed_ns, Range::kNonNegative);
  v("hash_before", r.hash_before);
  v("hash_after", r.hash_after);
  v("nodes_after", r.nodes_after, Range::kNonNegative);
  v("snapshot", r.snapshot);
}

template <class V>
void describe(V& v, StepRecord& r) {
  v("index", r.index, Range::kNonNegative);
  v("region", r.region, Range::kNonNegative);
  v("name", r.name);
  v("kind", r.kind);
  v("spec", r.spec);
  v("kernel", r.kernel);
  v("implementation", r.implementation);
  v("device", r.device);
  v("src_layout", r.src_layout);
  v("dst_layout", r.dst_layout);
  v("dst_shape", r.dst_shape);
  v("precision", r.precision);
  v("origins", r.origins, Range::kNonNegative);
  v("micro_batches", r.micro_batches, Range::kNonNegative);
  v("runs", r.runs, Range::kNonNegative);
  v("flops", r.flops, Range::kNonNegative);
  v("bytes", r.bytes, Range::kNonNegative);
  v("arena_begin", r.arena_begin, Range::kAtLeastMinusOne);
  v("arena_size", r.arena_size, Range::kNonNegative);
  v("last_use", r.last_use, Range::kAtLeastMinusOne);
}

template <class V>
void describe(V& v, DispatchRecord& r) {
  v("step", r.step, Range::kNonNegative);
  v("kernel", r.kernel);
  v("layout", r.layout);
  v("chosen", r.chosen);
  v("reason", r.reason);
  v("elapsed_ns", r.elapsed_ns, Range::kNonNegative);
  v("max_error", r.max_error);
}

template <class V>
void describe(V& v, StepTime& r) {
  v("step", r.step);
  v("name", r.name);
  v("kind", r.kind);
  v("origins", r.origins, Range::kNonNegative);
  v("thread", r.thread, Range::kNonNegative);
  v("begin_ns", r.begin_ns);
  v("elapsed_ns", r.elapsed_ns, Range::kNonNegative);
  v("whole_ns", r.whole_ns, Range::kNonNegative);
}

template <class V>
void describe(V& v, NoiseRecord& r) {
  v("wall_ns", r.wall_ns, Range::kNonNegative);
  v("cpus", r.cpus, Range::kNonNegative);
  v("others", r.others);
  v("stolen", r.stolen);
  v("preempted_per_s", r.preempted_per_s);
  v("throttled", r.throttled);
  v("fastest_chain_ns", r.fastest_chain_ns, Range::kNonNegative);
  v("slowest_chain_ns", r.slowest_chain_ns, Range::kNonNegative);
}

template <class V>
void describe(V& v, MachineFacts& r) {
  v("cpu", r.cpu);
  v("isa", r.isa);
  v("features", r.features);
  v("cores", r.cores, Range::kNonNegative);
  v("libtorch", r.libtorch);
  v("onednn", r.onednn);
  v("os", r.os);
  v("governor", r.governor);
  v("memory_bytes", r.memory_bytes, Range::kNonNegative);
}

template <class V>
void describe(V& v, AccuracyRecord& r) {
  v("origins", r.origins, Range::kNonNegative);
  v("output", r.output, Range::kAtLeastMinusOne);
  v("reference", r.reference);
  v("max_abs", r.max_abs);
  v("max_rel", r.max_rel);
  v("sqnr_db", r.sqnr_db);
  v("cosine", r.cosine);
  v("pass", r.pass);
  v("text", r.text);
}

template <class V>
void describe(V& v, ValueDifference& r) {
  v("name", r.name);
  v("other", r.other);
  v("source", r.source);
  v("origins", r.origins, Range::kNonNegative);
  v("accuracy", r.accuracy);
  v("place", r.place);
  v("value", r.value);
  v("expected", r.expected);
  v("nans", r.nans, Range::kNonNegative);
  v("right_nans", r.right_nans, Range::kNonNegative);
  v("nan_place", r.nan_place);
}

template <class V>
void describe(V& v, BisectRecord& r) {
  v("results", r.results);
  v("compared", r.compared, Range::kNonNegative);
  v("nodes", r.nodes, Range::kNonNegative);
  v("wrong", r.wrong);
  v("feeds", r.feeds);
  v("alone", r.alone);
  v("cause", r.cause);
  v("blame", r.blame);
  v("why", r.why);
  v("confirmed", r.confirmed);
}

template <class V>
void describe(V& v, MetricRecord& r) {
  v("name", r.name);
  v("value", r.value);
  v("higher_is_better", r.higher_is_better);
  v("samples", r.samples, Range::kNonNegative);
}

template <class V>
void describe(V& v, SensitivityRecord& r) {
  v("key", r.key);
  v("name", r.name);
  v("origins", r.origins, Range::kNonNegative);
  v("precision", r.precision);
  v("sqnr_db", r.sqnr_db);
  v("cumulative_db", r.cumulative_db);
  v("fp32_ns", r.fp32_ns, Range::kNonNegative);
  v("low_ns", r.low_ns, Range::kNonNegative);
  v("chosen", r.chosen);
  v("reason", r.reason);
}

template <class V>
void describe(V& v, TradeoffRecord& r) {
  v("name", r.name);
  v("elapsed_ns", r.elapsed_ns, Range::kNonNegative);
  v("metric", r.metric);
  v("sqnr_db", r.sqnr_db);
  v("fp32_nodes", r.fp32_nodes, Range::kNonNegative);
  v("bf16_nodes", r.bf16_nodes, Range::kNonNegative);
  v("int8_nodes", r.int8_nodes, Range::kNonNegative);
  v("allowed", r.allowed);
  v("on_front", r.on_front);
  v("chosen", r.chosen);
  v("assignment", r.assignment);
}

template <class V>
void describe(V& v, DecisionRecord& r) {
  v("what", r.what);
  v("precision", r.precision);
  v("spec", r.spec);
  v("dst_shape", r.dst_shape);
  v("kernel", r.kernel);
  v("layout", r.layout);
}

template <class V>
void describe(V& v, Coverage& r) {
  v("nodes", r.nodes);
  v("time", r.time);
}

template <class V>
void describe(V& v, RunRecord& r) {
  v("variant", r.variant);
  v("device", r.device);
  v("precision", r.precision);
  v("threads", r.threads, Range::kNonNegative);
  v("instances", r.instances, Range::kNonNegative);
  v("warmup_iterations", r.warmup_iterations, Range::kNonNegative);
  v("latency_ns", r.latency_ns, Range::kNonNegative);
  v("turn", r.turn, Range::kNonNegative);
  v("load_ns", r.load_ns, Range::kNonNegative);
  v("compile_ns", r.compile_ns, Range::kNonNegative);
  v("tune_ns", r.tune_ns, Range::kNonNegative);
  v("first_run_ns", r.first_run_ns, Range::kNonNegative);
  v("peak_rss_bytes", r.peak_rss_bytes, Range::kNonNegative);
  v("cpu_per_wall", r.cpu_per_wall);
  v("noise", r.noise);
  v("accuracy", r.accuracy);
  v("coverage", r.coverage);
  v("steps", r.steps);
  v("dispatches", r.dispatches);
  v("step_times", r.step_times);
  v("node_accuracy", r.node_accuracy);
  v("metrics", r.metrics);
  v("export_bytes", r.export_bytes, Range::kNonNegative);
}

template <class V>
void describe(V& v, InputRecord& r) {
  v("name", r.name);
  v("description", r.description);
  v("guessed", r.guessed);
}

template <class V>
void describe(V& v, ArgumentRecord& r) {
  v("name", r.name);
  v("type", r.type);
  v("example", r.example);
}

template <class V>
void describe(V& v, ModelRecord& r) {
  v("path", r.path);
  v("sha256", r.sha256);
  v("file_bytes", r.file_bytes, Range::kNonNegative);
  v("nodes", r.nodes, Range::kNonNegative);
  v("inputs", r.inputs);
  v("origins", r.origins);
}

template <class V>
void describe(V& v, TrainingStep& r) {
  v("step", r.step, Range::kNonNegative);
  v("steps", r.steps, Range::kNonNegative);
  v("loss", r.loss);
  v("learning_rate", r.learning_rate);
  v("gradient_norm", r.gradient_norm);
  v("accuracy", r.accuracy);
  v("data_ns", r.data_ns, Range::kNonNegative);
  v("forward_ns", r.forward_ns, Range::kNonNegative);
  v("backward_ns", r.backward_ns, Range::kNonNegative);
  v("update_ns", r.update_ns, Range::kNonNegative);
}

template <class V>
void describe(V& v, TrainingEpoch& r) {
  v("epoch", r.epoch, Range::kNonNegative);
  v("step", r.step, Range::kNonNegative);
  v("loss", r.loss);
  v("metric", r.metric);
  v("elapsed_ns", r.elapsed_ns, Range::kNonNegative);
}

template <class V>
void describe(V& v, TrainingLayer& r) {
  v("step", r.step, Range::kNonNegative);
  v("layer", r.layer);
  v("forward_ns", r.forward_ns, Range::kNonNegative);
  v("backward_ns", r.backward_ns, Range::kNonNegative);
  v("update_ns", r.update_ns, Range::kNonNegative);
  v("parameters", r.parameters, Range::kNonNegative);
  v("gradient_norm", r.gradient_norm);
  v("kept_bytes", r.kept_bytes);
}

template <class V>
void describe(V& v, TrainingMemory& r) {
  v("step", r.step, Range::kNonNegative);
  v("at_ns", r.at_ns, Range::kNonNegative);
  v("phase", r.phase);
  v("layer", r.layer);
  v("activation_bytes", r.activation_bytes);
  v("gradient_bytes", r.gradient_bytes, Range::kNonNegative);
  v("peak_bytes", r.peak_bytes, Range::kNonNegative);
}

template <class V>
void describe(V& v, TrainingRecord& r) {
  v("loss", r.loss);
  v("optimizer", r.optimizer);
  v("schedule", r.schedule);
  v("precision", r.precision);
  v("metric", r.metric);
  v("higher_is_better", r.higher_is_better);
  v("epochs", r.epochs, Range::kNonNegative);
  v("steps_per_epoch", r.steps_per_epoch, Range::kNonNegative);
  v("batch", r.batch, Range::kNonNegative);
  v("samples", r.samples, Range::kNonNegative);
  v("parameters", r.parameters, Range::kNonNegative);
  v("threads", r.threads, Range::kNonNegative);
  v("resumed_at", r.resumed_at, Range::kNonNegative);
  v("finished", r.finished);
  v("steps", r.steps);
  v("ends", r.ends);
  v("fault", r.fault);
  v("layers", r.layers);
  v("memory", r.memory);
}

template <class V>
void describe(V& v, JobRecord& r) {
  v("command", r.command);
  v("options", r.options, Range::kText);
  v("started_unix_ns", r.started_unix_ns);
  v("model", r.model);
  v("machine", r.machine);
  v("frozen", r.frozen);
  v("passes", r.passes);
  v("remarks", r.remarks);
  v("runs", r.runs);
  v("sensitivities", r.sensitivities);
  v("tradeoffs", r.tradeoffs);
  v("decisions", r.decisions);
  v("training", r.training);
}

template <class V>
void describe(V& v, DeviceRecord& r) {
  v("asked_by", r.asked_by);
  v("name", r.name);
  v("vendor", r.vendor);
  v("platform", r.platform);
  v("driver", r.driver);
  v("version", r.version);
  v("type", r.type);
  v("memory_bytes", r.memory_bytes, Range::kNonNegative);
  v("largest_bytes", r.largest_bytes, Range::kNonNegative);
  v("units", r.units, Range::kNonNegative);
  v("features", r.features);
  v("lacks", r.lacks);
}

template <class V>
void describe(V& v, DeviceList& r) {
  v("devices", r.devices);
  v("faults", r.faults);
}

template <class V>
void describe(V& v, SourceFile& r) {
  v("name", r.name);
  v("python", r.python);
  v("first_line", r.first_line, Range::kNonNegative);
  v("text", r.text, Range::kText);
  v("cut", r.cut);
}

template <class V>
void describe(V& v, SourcePlace& r) {
  v("origin", r.origin, Range::kNonNegative);
  v("file", r.file, Range::kNonNegative);
  v("line", r.line, Range::kNonNegative);
  v("call", r.call);
}

template <class V>
void describe(V& v, SourceRecord& r) {
  v("files", r.files);
  v("places", r.places);
}

template <class V>
void describe(V& v, ValueForm& r) {
  v("form", r.form);
  v("name", r.name);
  v("type", r.type);
  v("elements", r.elements, Range::kNonNegative);
  v("nans", r.nans, Range::kNonNegative);
  v("infinities", r.infinities, Range::kNonNegative);
  v("zeros", r.zeros, Range::kNonNegative);
  v("least", r.least);
  v("greatest", r.greatest);
  v("mean", r.mean);
  v("deviation", r.deviation);
  v("histogram", r.histogram, Range::kNonNegative);
  v("width", r.width, Range::kNonNegative);
  v("height", r.height, Range::kNonNegative);
  v("colors", r.colors, Range::kNonNegative);
  v("picture", r.picture, Range::kNonNegative);
}

template <class V>
void describe(V& v, ValueRecord& r) {
  v("name", r.name);
  v("origins", r.origins, Range::kNonNegative);
  v("low", r.low);
  v("high", r.high);
  v("forms", r.forms);
  v("differences", r.differences);
  v("remark", r.remark);
}

template <class V>
void describe(V& v, GenerationForm& r) {
  v("form", r.form);
  v("ids", r.ids);
  v("log_probabilities", r.log_probabilities);
  v("first_token_ns", r.first_token_ns, Range::kNonNegative);
  v("p50_ns", r.p50_ns, Range::kNonNegative);
  v("p99_ns", r.p99_ns, Range::kNonNegative);
  v("tokens_per_s", r.tokens_per_s);
  v("cache_bytes", r.cache_bytes, Range::kNonNegative);
}

template <class V>
void describe(V& v, GenerationRecord& r) {
  v("prompt", r.prompt);
  v("strategy", r.strategy);
  v("cache", r.cache);
  v("beams", r.beams, Range::kNonNegative);
  v("forms", r.forms);
  v("same_ids", r.same_ids);
  v("other_choices", r.other_choices, Range::kNonNegative);
  v("closest_choice", r.closest_choice);
  v("max_difference", r.max_difference);
  v("pass", r.pass);
  v("accuracy", r.accuracy);
  v("remarks", r.remarks);
}

}  // namespace ipex_studio
