// Finds the limit of speed: times the best raw oneDNN primitive for each layer of a network, and the machine's own
// limits.
//
//   bench_limit < LAYERS > RESULT.json        threads: OMP_NUM_THREADS
//
// One layer per line, its sizes as numbers:
//   convolution N IC IH IW OC KH KW SH SW PH PW DH DW GROUPS
//   deconvolution, the same with OH OW after GROUPS (kernel of a transposed convolution; IC -> OC)
//   linear M K N            activations times constant weights
//   matmul B M K N          activations times activations
//
// All layers run one after the other, as in the network but with nothing between them. Each layer has its own weights,
// which are as cold as in the network; activations live in two buffers that all layers reuse. Every candidate
// (algorithm, layout) has a sequence of its own, the sequences run interleaved, and each layer's time is the least
// median.
#include <omp.h>
#include <dnnl.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using dnnl::memory;
using Dims = memory::dims;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;
constexpr int kRounds = 7;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Keeps the compiler from dropping computed results.
void keep(const void* pointer) { asm volatile("" : : "r"(pointer) : "memory"); }

struct Layer {
  std::string line;
  std::string kind;
  std::vector<std::int64_t> sizes;
  double flops = 0;
  double weight_bytes = 0;
};

struct Candidate {
  std::string name;
  dnnl::primitive primitive;
  memory::desc src, weights, dst;
  memory weights_memory;
  std::unordered_map<int, memory> arguments;
};

// Two buffers for activations, as large as the largest layer needs; src and dst alternate.
class Buffers {
 public:
  void reserve(std::size_t bytes) { bytes_ = std::max(bytes_, bytes); }
  void allocate() {
    for (auto& buffer : data_) buffer.assign(bytes_ / sizeof(float) + 64, 0.5F);
  }
  void* at(int index) { return data_[index % 2].data(); }

 private:
  std::size_t bytes_ = 64;
  std::vector<float> data_[2];
};

class Network {
 public:
  explicit Network(std::vector<Layer> layers) : layers_(std::move(layers)) {
    for (const Layer& layer : layers_) {
      candidates_.push_back(candidates(layer));
      if (candidates_.back().empty()) throw std::runtime_error("no primitive for " + layer.line);
      for (const Candidate& c : candidates_.back()) {
        buffers_.reserve(c.src.get_size());
        buffers_.reserve(c.dst.get_size());
        if (layer.kind == "matmul") buffers_.reserve(c.weights.get_size());
        sequences_ = std::max(sequences_, candidates_.back().size());
      }
    }
    buffers_.allocate();
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      for (Candidate& c : candidates_[i]) bind(layers_[i], c, static_cast<int>(i));
    }
  }

  struct Best {
    double seconds = 1e30;
    double without_winograd = 1e30;
    std::string name;
  };

  // Returns each layer's fastest candidate.
  std::vector<Best> measure() {
    std::vector<std::vector<std::vector<double>>> samples(layers_.size());
    for (std::size_t i = 0; i < layers_.size(); ++i) samples[i].resize(candidates_[i].size());
    for (int round = 0; round <= kRounds; ++round) {
      for (std::size_t sequence = 0; sequence < sequences_; ++sequence) {
        for (std::size_t i = 0; i < layers_.size(); ++i) {
          const std::size_t choice = std::min(sequence, candidates_[i].size() - 1);
          Candidate& c = candidates_[i][choice];
          const auto begin = Clock::now();
          c.primitive.execute(stream_, c.arguments);
          stream_.wait();
          if (round > 0) samples[i][choice].push_back(secondsSince(begin));
        }
      }
    }
    std::vector<Best> best(layers_.size());
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      for (std::size_t c = 0; c < samples[i].size(); ++c) {
        auto& times = samples[i][c];
        std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
        const double median = times[times.size() / 2];
        const std::string& name = candidates_[i][c].name;
        if (name.rfind("winograd", 0) != 0) best[i].without_winograd = std::min(best[i].without_winograd, median);
        if (median < best[i].seconds) {
          best[i].seconds = median;
          best[i].name = name;
        }
      }
    }
    return best;
  }

 private:
  // Adds the candidate unless the library has no such primitive.
  void offer(std::vector<Candidate>& list, const std::string& name, const std::function<Candidate()>& make) {
    try {
      list.push_back(make());
      list.back().name = name;
    } catch (const dnnl::error&) {
      // Not implemented for this shape, layout or algorithm.
    }
  }

  template <typename Descriptor>
  Candidate from(const Descriptor& pd) {
    Candidate c;
    c.primitive = dnnl::primitive(pd);
    c.src = pd.src_desc();
    c.weights = pd.weights_desc();
    c.dst = pd.dst_desc();
    return c;
  }

  std::vector<Candidate> candidates(const Layer& layer) {
    std::vector<Candidate> list;
    const auto& s = layer.sizes;
    if (layer.kind == "linear") {
      linear(list, s[0], s[1], s[2]);
    } else if (layer.kind == "matmul") {
      const memory::desc a({s[0], s[1], s[2]}, kF32, Tag::abc), b({s[0], s[2], s[3]}, kF32, Tag::abc);
      const memory::desc bt({s[0], s[2], s[3]}, kF32, Tag::acb), c({s[0], s[1], s[3]}, kF32, Tag::abc);
      offer(list, "matmul", [&] { return matmul(a, b, c); });
      offer(list, "matmul transposed", [&] { return matmul(a, bt, c); });
    } else {
      convolution(list, layer.kind == "deconvolution", s);
    }
    return list;
  }

  Candidate matmul(const memory::desc& a, const memory::desc& b, const memory::desc& c) {
#if DNNL_VERSION_MAJOR >= 3
    return from(dnnl::matmul::primitive_desc(engine_, a, b, c));
#else
    return from(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), engine_));
#endif
  }

  void linear(std::vector<Candidate>& list, std::int64_t m, std::int64_t k, std::int64_t n) {
    const memory::desc a({m, k}, kF32, Tag::ab), c({m, n}, kF32, Tag::ab);
    offer(list, "inner product", [&] {
      const memory::desc w({n, k}, kF32, Tag::any);
#if DNNL_VERSION_MAJOR >= 3
      return from(dnnl::inner_product_forward::primitive_desc(engine_, dnnl::prop_kind::forward_inference, a, w, c));
#else
      return from(dnnl::inner_product_forward::primitive_desc(
          dnnl::inner_product_forward::desc(dnnl::prop_kind::forward_inference, a, w, c), engine_));
#endif
    });
    offer(list, "matmul", [&] { return matmul(a, memory::desc({k, n}, kF32, Tag::any), c); });
    offer(list, "matmul plain", [&] { return matmul(a, memory::desc({k, n}, kF32, Tag::ab), c); });
    for (const bool flat : {true, false}) {
      // The same product as a 1x1 convolution, with rows as pixels.
      convolution(list, false, {1, k, flat ? 1 : m, flat ? m : 1, n, 1, 1, 1, 1, 0, 0, 0, 0, 1});
    }
  }

  void convolution(std::vector<Candidate>& list, bool transposed, const std::vector<std::int64_t>& s) {
    const std::int64_t groups = s[13];
    const auto extent = [&](int i) {
      const std::int64_t kernel = (s[5 + i] - 1) * (s[11 + i] + 1) + 1;
      return transposed ? s[14 + i] : (s[2 + i] + 2 * s[9 + i] - kernel) / s[7 + i] + 1;
    };
    const std::int64_t oh = extent(0), ow = extent(1);
    const Dims src = {s[0], s[1], s[2], s[3]}, dst = {s[0], s[4], oh, ow};
    const Dims weights =
        groups > 1 ? Dims{groups, s[4] / groups, s[1] / groups, s[5], s[6]} : Dims{s[4], s[1], s[5], s[6]};
    const Dims strides = {s[7], s[8]}, dilation = {s[11], s[12]}, left = {s[9], s[10]};
    Dims right(2);
    for (int i = 0; i < 2; ++i) {
      const std::int64_t kernel = (s[5 + i] - 1) * (s[11 + i] + 1) + 1;
      const std::int64_t out = i == 0 ? oh : ow;
      right[i] = transposed ? (s[2 + i] - 1) * s[7 + i] + kernel - out - left[i]
                            : (out - 1) * s[7 + i] + kernel - s[2 + i] - left[i];
    }
    using dnnl::algorithm;
    for (const Tag tag : {Tag::any, Tag::nhwc}) {
      const memory::desc x(src, kF32, tag), w(weights, kF32, Tag::any), y(dst, kF32, tag);
      for (const algorithm a :
           transposed ? std::vector<algorithm>{algorithm::deconvolution_direct}
                      : std::vector<algorithm>{algorithm::convolution_direct, algorithm::convolution_winograd}) {
        const std::string name = std::string(a == algorithm::convolution_winograd ? "winograd" : "direct") +
                                 (tag == Tag::any ? "" : " nhwc");
        offer(list, name, [&] {
          constexpr auto kInference = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
          if (transposed)
            return from(dnnl::deconvolution_forward::primitive_desc(engine_, kInference, a, x, w, y, strides, dilation,
                                                                    left, right));
          return from(dnnl::convolution_forward::primitive_desc(engine_, kInference, a, x, w, y, strides, dilation,
                                                                left, right));
#else
          if (transposed)
            return from(dnnl::deconvolution_forward::primitive_desc(
                dnnl::deconvolution_forward::desc(kInference, a, x, w, y, strides, dilation, left, right), engine_));
          return from(dnnl::convolution_forward::primitive_desc(
              dnnl::convolution_forward::desc(kInference, a, x, w, y, strides, dilation, left, right), engine_));
#endif
        });
      }
    }
  }

  void bind(const Layer& layer, Candidate& c, int position) {
    c.arguments[DNNL_ARG_SRC] = memory(c.src, engine_, buffers_.at(position));
    c.arguments[DNNL_ARG_DST] = memory(c.dst, engine_, buffers_.at(position + 1));
    if (layer.kind == "matmul") {
      c.arguments[DNNL_ARG_WEIGHTS] = memory(c.weights, engine_, buffers_.at(position));
    } else {
      c.weights_memory = memory(c.weights, engine_);
      auto* data = static_cast<float*>(c.weights_memory.get_data_handle());
      std::fill(data, data + c.weights.get_size() / sizeof(float), 0.01F);
      c.arguments[DNNL_ARG_WEIGHTS] = c.weights_memory;
    }
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Layer> layers_;
  std::vector<std::vector<Candidate>> candidates_;
  std::size_t sequences_ = 0;
  Buffers buffers_;
};

Layer parse(const std::string& line) {
  Layer layer;
  layer.line = line;
  std::istringstream stream(line);
  stream >> layer.kind;
  for (std::int64_t size = 0; stream >> size;) layer.sizes.push_back(size);
  const auto& s = layer.sizes;
  const std::size_t expected = layer.kind == "linear"          ? 3
                               : layer.kind == "matmul"        ? 4
                               : layer.kind == "convolution"   ? 14
                               : layer.kind == "deconvolution" ? 16
                                                               : 0;
  if (expected == 0 || s.size() != expected) throw std::runtime_error("not a layer: " + line);
  if (layer.kind == "linear") {
    layer.flops = 2.0 * s[0] * s[1] * s[2];
    layer.weight_bytes = 4.0 * s[1] * s[2];
  } else if (layer.kind == "matmul") {
    layer.flops = 2.0 * s[0] * s[1] * s[2] * s[3];
  } else {
    const double weights = 1.0 * s[4] * s[1] / s[13] * s[5] * s[6];
    const auto out = [&](int i) {
      return (s[2 + i] + 2 * s[9 + i] - ((s[5 + i] - 1) * (s[11 + i] + 1) + 1)) / s[7 + i] + 1;
    };
    const double places = layer.kind == "convolution" ? 1.0 * out(0) * out(1) : 1.0 * s[2] * s[3];
    layer.flops = 2.0 * s[0] * places * weights;
    layer.weight_bytes = 4.0 * weights;
  }
  return layer;
}

#ifdef __AVX512F__
constexpr int kVectorBytes = 64;
#else
constexpr int kVectorBytes = 32;
#endif
typedef float Vector __attribute__((vector_size(kVectorBytes)));

// Peak of fused multiply-adds of all threads, in FLOP per second.
double peakFlops() {
  constexpr int kChains = 12;  // enough to hide the latency of four or five cycles on two ports
  constexpr std::int64_t kSteps = 4'000'000;
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const auto begin = Clock::now();
#pragma omp parallel
    {
      Vector sums[kChains];
      for (Vector& sum : sums) sum = Vector{} + 1.0F;
      Vector factor = Vector{} + 0.999F, term = Vector{} + 0.001F;
      asm volatile("" : "+x"(factor), "+x"(term));
      for (std::int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 16
        for (Vector& sum : sums) sum = sum * factor + term;
      }
      keep(sums);
    }
    const double flops = 2.0 * kChains * kSteps * (kVectorBytes / 4) * omp_get_max_threads();
    best = std::max(best, flops / secondsSince(begin));
  }
  return best;
}

// Bytes per second that all threads read from a working set of this size.
double readBandwidth(double bytes) {
  const auto count = static_cast<std::int64_t>(std::max(bytes, 1e6) / kVectorBytes);
  std::vector<float> data(static_cast<std::size_t>(count) * (kVectorBytes / 4) + 16, 1.0F);
  // The start is aligned by hand.
  auto address = reinterpret_cast<std::uintptr_t>(data.data());
  const auto* vectors = reinterpret_cast<const Vector*>((address + kVectorBytes - 1) / kVectorBytes * kVectorBytes);
  double best = 0;
  for (int round = 0; round < 6; ++round) {
    const auto begin = Clock::now();
#pragma omp parallel
    {
      Vector sums[8] = {};
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < count / 8; ++i) {
        for (int k = 0; k < 8; ++k) sums[k] += vectors[8 * i + k];
      }
      keep(sums);
    }
    if (round > 0) best = std::max(best, static_cast<double>(count) * kVectorBytes / secondsSince(begin));
  }
  return best;
}

int run() {
  std::vector<Layer> layers;
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty()) layers.push_back(parse(line));
  }
  double weights = 0;
  for (const Layer& layer : layers) weights += layer.weight_bytes;
  const double peak = peakFlops(), bandwidth = readBandwidth(weights);
  const auto best = Network(layers).measure();
  double sum = 0, without_winograd = 0, roofline = 0;
  std::printf("{\"threads\": %d, \"layers\": [", omp_get_max_threads());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    sum += best[i].seconds;
    without_winograd += best[i].without_winograd;
    roofline += std::max(layers[i].flops / peak, layers[i].weight_bytes / bandwidth);
    std::printf("%s\n{\"layer\": \"%s\", \"best\": \"%s\", \"ns\": %.0f, \"flops\": %.0f}", i == 0 ? "" : ",",
                layers[i].line.c_str(), best[i].name.c_str(), best[i].seconds * 1e9, layers[i].flops);
  }
  std::printf(
      "],\n\"sum_ns\": %.0f, \"without_winograd_ns\": %.0f, \"roofline_ns\": %.0f, \"peak_gflops\": %.1f, "
      "\"bandwidth_gb_per_s\": %.2f}\n",
      sum * 1e9, without_winograd * 1e9, roofline * 1e9, peak / 1e9, bandwidth / 1e9);
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
