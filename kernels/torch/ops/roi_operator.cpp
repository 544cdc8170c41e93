// Checks of the operands of operators on regions of interest.
#include "kernels/torch/ops/roi_operator.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include "kernels/vision/roi_grid.h"

namespace ipex_studio {
namespace {

void checkRois(const char* name, const at::Tensor& rois, std::int64_t images) {
  TORCH_CHECK(rois.dim() == 2 && rois.size(1) == 5, name, ": rois must have sizes [count, 5], not ", rois.sizes(), ".");
  const at::Tensor of_images = rois.select(1, 0).to(at::kDouble).contiguous();
  const double* const image = of_images.data_ptr<double>();
  for (std::int64_t r = 0; r < rois.size(0); ++r) {
    TORCH_CHECK(image[r] >= 0 && image[r] < static_cast<double>(images), name, ": region ", r, " is of image ",
                image[r], ", and there are ", images, ".");
  }
}

}  // namespace

void checkRoiSamples(const char* name, const RoiAlignJob& job, const at::Tensor& rois) {
  AT_DISPATCH_FLOATING_TYPES(rois.scalar_type(), "regions of interest", [&] {
    for (std::int64_t r = 0; r < job.rois; ++r) {
      const scalar_t* const roi = rois.data_ptr<scalar_t>() + 5 * r;
      TORCH_CHECK(roiSamples(job, roi) <= kMaxRoiSamples, name, ": region ", r, " (", roi[1], ", ", roi[2], ", ",
                  roi[3], ", ", roi[4], ") is too large to be sampled pixel by pixel; give a sampling_ratio.");
    }
  });
}

std::int64_t positionSensitiveChannels(const char* name, const RoiAlignJob& job) {
  const std::int64_t bins = job.pooled_height * job.pooled_width;
  TORCH_CHECK(job.channels % bins == 0, name, ": the input has ", job.channels, " channels, which are no multiple of ",
              bins, " bins.");
  return job.channels / bins;
}

at::Tensor channelMapping(const RoiAlignJob& job, at::IntArrayRef result) {
  const at::Tensor channels = at::arange(job.channels, at::kInt).reshape({1, result[1], result[2], result[3]});
  return channels.expand(result).contiguous();
}

RoiAlignJob roiJob(const char* name, at::IntArrayRef input, const at::Tensor& rois, const RoiArguments& arguments) {
  TORCH_CHECK(input.size() == 4, name, ": the input must have 4 axes, not ", input.size(), ".");
  TORCH_CHECK(arguments.height > 0 && arguments.width > 0, name, ": the result must have a size, not ",
              arguments.height, " x ", arguments.width, ".");
  checkRois(name, rois, input[0]);
  RoiAlignJob job;
  job.images = input[0];
  job.channels = input[1];
  job.height = input[2];
  job.width = input[3];
  job.rois = rois.size(0);
  job.pooled_height = arguments.height;
  job.pooled_width = arguments.width;
  job.spatial_scale = arguments.scale;
  job.sampling_ratio = arguments.sampling;
  job.aligned = arguments.aligned;
  job.isa = isaHere();
  job.threads = at::get_num_threads();
  return job;
}

}  // namespace ipex_studio
