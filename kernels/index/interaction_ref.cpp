// Products of pairs of features and their gradients, by their definition.
#include "kernels/common/reference.h"
#include "kernels/index/interaction_job.h"

namespace ipex_studio {
namespace {

InteractionJob jobOf(const RefCall& call, std::size_t first) {
  std::vector<Dims> src;
  for (const RefTensor& x : call.src) src.push_back(x.dims);
  return interactionJob(call.spec, src, first);
}

const double* featureOf(const RefCall& call, const InteractionJob& job, std::int64_t sample, std::int64_t feature) {
  const InteractionJob::Feature& place = job.features[static_cast<std::size_t>(feature)];
  return call.src[place.source].data + sample * place.stride + place.offset;
}

}  // namespace

void refInteraction(const RefCall& call) {
  const InteractionJob job = jobOf(call, 0);
  for (std::int64_t sample = 0; sample < call.dst[0].dims[0]; ++sample) {
    double* const y = call.dst[0].data + sample * job.result_width;
    for (std::int64_t e = 0; e < job.dense; ++e) y[e] = featureOf(call, job, sample, 0)[e];
    for (std::int64_t i = 0; i < job.featureCount(); ++i) {
      for (std::int64_t j = 0; j < (job.diagonal ? i + 1 : i); ++j) {
        double sum = 0;
        for (std::int64_t e = 0; e < job.width; ++e) {
          sum += featureOf(call, job, sample, i)[e] * featureOf(call, job, sample, j)[e];
        }
        y[job.place(i, j)] = sum;
      }
    }
  }
}

void refInteractionBackward(const RefCall& call) {
  const InteractionJob job = jobOf(call, 1);
  for (std::int64_t sample = 0; sample < call.dst[0].dims[0]; ++sample) {
    const double* const g = call.src[0].data + sample * job.result_width;
    double* const gradient = call.dst[0].data + sample * job.featureCount() * job.width;
    for (std::int64_t e = 0; e < job.featureCount() * job.width; ++e) gradient[e] = e < job.dense ? g[e] : 0;
    for (std::int64_t i = 0; i < job.featureCount(); ++i) {
      for (std::int64_t j = 0; j < (job.diagonal ? i + 1 : i); ++j) {
        const double factor = g[job.place(i, j)];
        for (std::int64_t e = 0; e < job.width; ++e) {
          gradient[i * job.width + e] += factor * featureOf(call, job, sample, j)[e];
          gradient[j * job.width + e] += factor * featureOf(call, job, sample, i)[e];
        }
      }
    }
  }
}

}  // namespace ipex_studio
