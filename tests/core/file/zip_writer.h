// Writes small ZIP archives byte by byte: sound ones in the layout of torch.jit.save and, with the switches, others.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ipex_studio::testing {

inline std::string littleEndian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

inline std::uint32_t crcOf(const std::string& data) {
  return static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
}

inline std::string deflated(const std::string& data) {
  z_stream z{};
  deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, static_cast<uLong>(data.size())), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  z.avail_in = static_cast<uInt>(data.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

class ZipWriter {
 public:
  bool descriptors = true;  // CRC and sizes follow the data instead of standing in the local header
  bool zip64_end = true;    // ZIP64 end record and locator
  bool padding = true;      // "FB" extra field that aligns data to 64 bytes

  // The places of a member's parts, for tests that change them.
  struct Place {
    std::string name;
    std::size_t header = 0, data = 0, data_end = 0, central = 0;
  };
  std::vector<Place> places;

  void add(const std::string& name, const std::string& data, bool compress = false) {
    addRaw(name, compress ? deflated(data) : data, data.size(), crcOf(data), compress ? 8 : 0);
  }

  // `stored` is written as it is; `bytes` and `crc` are the declared values.
  void addRaw(const std::string& name, const std::string& stored, std::uint64_t bytes, std::uint32_t crc, int method) {
    const bool later = descriptors && !stored.empty();
    const std::string fixed =
        littleEndian(20, 2) + littleEndian(later ? 0x808 : 0x800, 2) + littleEndian(method, 2) + littleEndian(0, 4);
    const std::string sums = littleEndian(crc, 4) + littleEndian(stored.size(), 4) + littleEndian(bytes, 4);
    const std::size_t offset = out_.size();
    std::string extra;
    if (padding) {
      const std::size_t pad = 64 - (offset + 30 + name.size() + 4) % 64;
      extra = "FB" + littleEndian(pad, 2) + std::string(pad, 'Z');
    }
    places.push_back({name, offset, offset + 30 + name.size() + extra.size(), 0, central_.size()});
    out_ += "PK\x03\x04" + fixed + (later ? std::string(12, '\0') : sums) + littleEndian(name.size(), 2) +
            littleEndian(extra.size(), 2) + name + extra + stored;
    places.back().data_end = out_.size();
    if (later) out_ += "PK\x07\x08" + sums;
    central_ += "PK\x01\x02" + littleEndian(0, 2) + fixed + sums + littleEndian(name.size(), 2) + littleEndian(0, 2) +
                littleEndian(0, 2) + littleEndian(0, 2) + littleEndian(0, 2) + littleEndian(0, 4) +
                littleEndian(offset, 4) + name;
    ++count_;
  }

  std::string finish() {
    const std::size_t begin = out_.size();
    for (Place& place : places) place.central += begin;
    out_ += central_;
    if (zip64_end) {
      const std::size_t record = out_.size();
      out_ += "PK\x06\x06" + littleEndian(44, 8) + littleEndian(0x031e, 2) + littleEndian(45, 2) + littleEndian(0, 8) +
              littleEndian(count_, 8) + littleEndian(count_, 8) + littleEndian(central_.size(), 8) +
              littleEndian(begin, 8);
      out_ += "PK\x06\x07" + littleEndian(0, 4) + littleEndian(record, 8) + littleEndian(1, 4);
    }
    const std::uint64_t shown = count_ < 0xffff ? count_ : 0xffff;
    out_ += "PK\x05\x06" + littleEndian(0, 4) + littleEndian(shown, 2) + littleEndian(shown, 2) +
            littleEndian(central_.size(), 4) + littleEndian(begin, 4) + littleEndian(0, 2);
    return out_;
  }

 private:
  std::string out_, central_;
  std::uint64_t count_ = 0;
};

}  // namespace ipex_studio::testing
