// Decoding through libjpeg and libpng within limits.
#include "core/data/image_file.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cctype>
#include <csetjmp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <vector>

#include <jpeglib.h>  // needs <cstdio> before it

#include "core/base/error.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;
constexpr std::int64_t kLargestSide = 1 << 14;
constexpr std::int64_t kMaxPixels = std::int64_t{64} << 20;
constexpr int kMaxScans = 200;  // a progressive file of some KB can ask for thousands

[[noreturn]] void refuseImage(const std::string& path, const std::string& why) {
  throw Error(ExitCode::kUsage, fmt::format("'{}' cannot be used as an image: {}.", path, why));
}

void checkSize(const std::string& path, std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1 || width > kLargestSide || height > kLargestSide || width * height > kMaxPixels) {
    refuseImage(path, fmt::format("it has {} x {} pixels", width, height));
  }
}

std::string readBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ExitCode::kUsage, fmt::format("'{}' cannot be opened.", path));
  std::string bytes;
  char chunk[1 << 16];
  while (file.read(chunk, sizeof chunk) || file.gcount() > 0) {
    bytes.append(chunk, static_cast<std::size_t>(file.gcount()));
    if (bytes.size() > kMaxFileBytes) refuseImage(path, "it is larger than 256 MB");
  }
  return bytes;
}

// libjpeg reports errors by a jump, so nothing with a destructor lives in the function that is jumped back to.
struct JpegState {  // all zero to begin with
  jpeg_decompress_struct decoder;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

void jumpBack(j_common_ptr decoder) {
  auto* state = static_cast<JpegState*>(decoder->client_data);
  decoder->err->format_message(decoder, state->message);
  std::longjmp(state->back, 1);
}

// A warning means that data is missing or wrong and was made up.
void refuseWarnings(j_common_ptr decoder, int level) {
  if (level < 0) jumpBack(decoder);
}

void countScans(j_common_ptr decoder) {
  if (reinterpret_cast<jpeg_decompress_struct*>(decoder)->input_scan_number > kMaxScans) {
    auto* state = static_cast<JpegState*>(decoder->client_data);
    std::snprintf(state->message, sizeof state->message, "it has too many scans");
    std::longjmp(state->back, 1);
  }
}

void beginJpeg(JpegState* state, const unsigned char* bytes, std::size_t count) {
  state->decoder.err = jpeg_std_error(&state->errors);
  state->errors.error_exit = jumpBack;
  state->errors.emit_message = refuseWarnings;
  state->decoder.client_data = state;
  // jpeg_create_decompress keeps the error manager and the client data, and only it can fail before there is anything
  // to destroy.
  jpeg_create_decompress(&state->decoder);
  state->progress.progress_monitor = countScans;
  state->decoder.progress = &state->progress;
  state->decoder.mem->max_memory_to_use = 1l << 30;
  jpeg_mem_src(&state->decoder, bytes, static_cast<unsigned long>(count));
}

bool readJpegHeader(JpegState* state, const unsigned char* bytes, std::size_t count) {
  if (setjmp(state->back) != 0) return false;
  beginJpeg(state, bytes, count);
  jpeg_read_header(&state->decoder, TRUE);
  state->decoder.out_color_space = state->decoder.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  state->decoder.dct_method = JDCT_ISLOW;
  return true;
}

bool readJpegRows(JpegState* state, unsigned char* pixels, std::size_t row_bytes) {
  if (setjmp(state->back) != 0) return false;
  jpeg_start_decompress(&state->decoder);
  while (state->decoder.output_scanline < state->decoder.output_height) {
    JSAMPROW row = pixels + row_bytes * state->decoder.output_scanline;
    jpeg_read_scanlines(&state->decoder, &row, 1);
  }
  jpeg_finish_decompress(&state->decoder);
  return true;
}

at::Tensor readJpeg(const std::string& path, const std::string& bytes) {
  const auto state = std::make_unique<JpegState>();
  struct Destroy {
    JpegState* state;
    ~Destroy() { jpeg_destroy_decompress(&state->decoder); }
  };
  const bool header = readJpegHeader(state.get(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  const Destroy destroy{state.get()};
  if (!header) refuseImage(path, state->message);
  const std::int64_t width = state->decoder.image_width, height = state->decoder.image_height;
  checkSize(path, width, height);
  const std::int64_t channels = state->decoder.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  const at::Tensor pixels = at::empty({height, width, channels}, at::kByte);
  if (!readJpegRows(state.get(), pixels.data_ptr<std::uint8_t>(), static_cast<std::size_t>(width * channels)))
    refuseImage(path, state->message);
  return pixels.permute({2, 0, 1}).contiguous();
}

at::Tensor readPng(const std::string& path, const std::string& bytes) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  struct Free {
    png_image* image;
    ~Free() { png_image_free(image); }
  } const release{&image};
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) refuseImage(path, image.message);
  checkSize(path, image.width, image.height);
  const bool color = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  image.format = color ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  const at::Tensor pixels = at::empty({image.height, image.width, color ? 3 : 1}, at::kByte);
  const png_color black{0, 0, 0};
  if (png_image_finish_read(&image, &black, pixels.data_ptr(), 0, nullptr) == 0) refuseImage(path, image.message);
  return pixels.permute({2, 0, 1}).contiguous();
}

}  // namespace

at::Tensor readImage(const std::string& path) {
  const std::string bytes = readBytes(path);
  if (bytes.compare(0, 3, "\xff\xd8\xff") == 0) return readJpeg(path, bytes);
  if (bytes.compare(0, 8, "\x89PNG\r\n\x1a\n") == 0) return readPng(path, bytes);
  refuseImage(path, bytes.empty() ? "it is empty" : "it is neither JPEG nor PNG");
}

bool isImageName(const std::string& path) {
  const std::size_t dot = path.find_last_of("./");
  if (dot == std::string::npos || path[dot] != '.') return false;
  std::string end = path.substr(dot + 1);
  std::transform(end.begin(), end.end(), end.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return end == "jpg" || end == "jpeg" || end == "png";
}

}  // namespace ipex_studio
