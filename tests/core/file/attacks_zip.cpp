// Attacks by the archive of a file: names that leave it, members that hide, archives that two readers see differently,
// and sizes that lie.
#include <utility>

#include "tests/core/file/attacks.h"
#include "tests/core/file/attacks_packing.h"

namespace ipex_studio::testing {
namespace {

// A sound archive that a maker damages; its parts' places are known.
struct Archive {
  explicit Archive(Random& random) : zip(packing(random)) {
    addMembers(random, Net(), &zip);
    bytes = zip.finish();
    place = zip.places[random.index(zip.places.size())];
    while (place.data_end == place.data) place = zip.places[random.index(zip.places.size())];
  }
  std::uint64_t read(std::size_t at, int width) const {
    std::uint64_t value = 0;
    for (int i = width - 1; i >= 0; --i)
      value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
    return value;
  }
  void write(std::size_t at, std::uint64_t value, int width) {
    bytes.replace(at, static_cast<std::size_t>(width), littleEndian(value, width));
  }

  ZipWriter zip;
  ZipWriter::Place place;
  std::string bytes;
};

std::string withMember(Random& random, const std::string& inner, const std::string& outer = "") {
  Net net;
  if (!inner.empty()) net.more.push_back({inner, "x"});
  ZipWriter zip = packing(random);
  if (!outer.empty() && random.chance(50)) zip.add(outer, "x", random.chance(50));
  addMembers(random, net, &zip);
  if (!outer.empty()) zip.add(outer, "x", random.chance(50));
  return zip.finish();
}

std::string path(Random& random) {
  const std::string name = "m" + std::to_string(random.between(0, 9999));
  const std::string inner[] = {"../" + name,
                               name + "/../../../etc/passwd",
                               "./" + name,
                               name + "//x",
                               name + "\\x",
                               "..\\..\\" + name,
                               name + std::string("\0.py", 4),
                               name + "\n",
                               "C:" + name,
                               name + "/..",
                               name + "/./x",
                               name + "\x7f"};
  if (random.chance(30)) return withMember(random, "", random.chance(50) ? "/" + name : "../" + name);
  return withMember(random, inner[random.index(std::size(inner))]);
}

std::string outside(Random& random) {
  return withMember(
      random, "",
      "z" + std::to_string(random.between(0, 999)) + "/" + (random.chance(50) ? "data.pkl" : "code/__torch__.py"));
}

// libtorch finds members in any case, and takes one of those that are equal but for it.
std::string upperCase(Random& random) {
  const std::string hidden[] = {"CODE/__torch__/evil.py",
                                "code/__torch__/evil.PY",
                                "Code/__torch__/evil.Py",
                                "DATA.PKL",
                                "data.Pkl",
                                "CONSTANTS.pkl",
                                "code/__TORCH__.py",
                                "code/__torch__.pY",
                                "VERSION",
                                "Data/0",
                                "CONSTANTS/0",
                                "Byteorder",
                                "EXTRA/evil.py",
                                ".DATA/version"};
  return withMember(random, hidden[random.index(std::size(hidden))]);
}

std::string twice(Random& random) {
  const std::string again[] = {"data.pkl", "constants.pkl", "code/__torch__.py", "version", "data/0"};
  return withMember(random, again[random.index(std::size(again))]);
}

std::string flags(Random& random) {
  Archive archive(random);
  static const int kBits[] = {0, 4, 5, 6, 7, 13, 14, 15};
  const std::uint64_t bit = 1u << kBits[random.index(std::size(kBits))];
  const bool local = random.chance(70), central = !local || random.chance(70);
  if (local) archive.write(archive.place.header + 6, archive.read(archive.place.header + 6, 2) ^ bit, 2);
  if (central) archive.write(archive.place.central + 8, archive.read(archive.place.central + 8, 2) ^ bit, 2);
  return archive.bytes;
}

std::string method(Random& random) {
  Archive archive(random);
  const auto other = static_cast<std::uint64_t>(random.between(0, 99));
  const std::uint64_t now = archive.read(archive.place.header + 8, 2), set = other == now ? 99 : other;
  archive.write(archive.place.header + 8, set, 2);
  if (random.chance(50)) archive.write(archive.place.central + 10, set, 2);
  return archive.bytes;
}

// A fact of the local header, the directory or the descriptor that differs from the others.
std::string differs(Random& random) {
  Archive archive(random);
  static const std::pair<int, int> kLocal[] = {{4, 2},  {6, 2},  {8, 2},  {10, 2}, {12, 2},
                                               {14, 4}, {18, 4}, {22, 4}, {26, 2}, {28, 2}};
  static const std::pair<int, int> kCentral[] = {{6, 2},  {10, 2}, {12, 2}, {14, 2}, {16, 4}, {20, 4},
                                                 {24, 4}, {28, 2}, {30, 2}, {32, 2}, {34, 2}, {42, 4}};
  const bool local = random.chance(50);
  const auto& [offset, width] =
      local ? kLocal[random.index(std::size(kLocal))] : kCentral[random.index(std::size(kCentral))];
  const std::size_t at = (local ? archive.place.header : archive.place.central) + static_cast<std::size_t>(offset);
  const std::uint64_t old = archive.read(at, width);
  const std::uint64_t lies[] = {old + 1, old - 1, old ^ 0x40, 0xffffffff, 0x7fffffff, old + 4096};
  std::uint64_t lie = lies[random.index(std::size(lies))] & (width == 2 ? 0xffff : 0xffffffff);
  if (lie == old) lie ^= 1;
  archive.write(at, lie, width);
  return archive.bytes;
}

std::string renamed(Random& random) {
  Archive archive(random);
  const std::size_t name = archive.place.name.size();
  const std::size_t at = random.chance(50) ? archive.place.header + 30 : archive.place.central + 46;
  archive.bytes[at + random.index(name)] ^= static_cast<char>(random.between(1, 31));
  return archive.bytes;
}

std::string overlap(Random& random) {
  Archive archive(random);
  const ZipWriter::Place& other = archive.zip.places[random.index(archive.zip.places.size())];
  const std::uint64_t target = random.chance(60) && other.header != archive.place.header
                                   ? other.header
                                   : archive.place.header + static_cast<std::uint64_t>(random.between(1, 4096));
  archive.write(archive.place.central + 42, target, 4);
  return archive.bytes;
}

std::string junk(Random& random) {
  const std::string heads[] = {"MZ",
                               "\x7f"
                               "ELF",
                               "#!/bin/sh\nrm -rf /\n",
                               "%PDF-1.4\n",
                               "\x80\x02"
                               "cos\nsystem\n.",
                               "GIF89a",
                               "PK\3\4",
                               "<html>",
                               std::string(static_cast<std::size_t>(random.between(1, 5000)), '\0')};
  return heads[random.index(std::size(heads))] + std::string(static_cast<std::size_t>(random.between(0, 64)), 'j');
}

// Files that are an archive and something else, or two archives.
std::string polyglot(Random& random) {
  Net other;
  other.code += "    torch.save(x, \"f\")\n";
  const std::string good = packed(random, Net());
  Archive archive(random);
  switch (random.between(0, 5)) {
    case 0:
      return junk(random) + good;
    case 1:
      return good + junk(random);
    case 2:
      return packed(random, other) + good;
    case 3: {  // a comment that holds another end record
      std::string bytes = good;
      const std::string comment = random.chance(50) ? junk(random) : good.substr(good.size() - 22);
      bytes.replace(bytes.size() - 2, 2, littleEndian(comment.size(), 2));
      return bytes + comment;
    }
    case 4:  // bytes between a member and the next
      archive.bytes.insert(archive.place.data_end, junk(random));
      return archive.bytes;
    default:  // bytes before the directory
      archive.bytes.insert(archive.zip.places.front().central, junk(random));
      return archive.bytes;
  }
}

std::string zip64(Random& random) {
  ZipWriter zip;
  addMembers(random, Net(), &zip);
  std::string bytes = zip.finish();
  const std::size_t record = bytes.size() - 22 - 20 - 56;
  static const std::size_t kPlaces[] = {0, 4, 16, 20, 24, 32, 40, 48, 56, 60, 64, 72};
  const std::size_t at = record + kPlaces[random.index(std::size(kPlaces))];
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.between(0, 7)));
  return bytes;
}

std::string bomb(Random& random) {
  ZipWriter zip = packing(random);
  const std::string zeros(static_cast<std::size_t>(random.between(1 << 16, 1 << 20)), '\0'), small = deflated(zeros);
  const auto size = static_cast<std::int64_t>(zeros.size());
  const std::string folder = "f/extra/";
  switch (random.between(0, 4)) {
    case 0:
      zip.addRaw(folder + "x", small, static_cast<std::uint64_t>(random.between(0, size - 1)), crcOf(zeros), 8);
      break;
    case 1:
      zip.addRaw(folder + "x", small, static_cast<std::uint64_t>(size + random.between(1, 4000)), crcOf(zeros), 8);
      break;
    case 2:
      zip.addRaw(folder + "x", small, 4000000000u, crcOf(zeros), 8);
      break;
    case 3:
      zip.addRaw(folder + "x", small + junk(random), zeros.size(), crcOf(zeros), 8);
      break;
    default:
      zip.addRaw(folder + "x", small.substr(0, small.size() - static_cast<std::size_t>(random.between(1, 20))),
                 zeros.size(), crcOf(zeros), 8);
  }
  addMembers(random, Net(), &zip);
  return zip.finish();
}

std::string cut(Random& random) {
  std::string bytes = packed(random, Net());
  bytes.resize(random.index(bytes.size()));
  return bytes;
}

std::string wrongContents(Random& random) {
  Archive archive(random);
  const std::size_t at = archive.place.data + random.index(archive.place.data_end - archive.place.data);
  // A stored member's bytes count; in a compressed one several streams give the same contents.
  if (archive.read(archive.place.header + 8, 2) != 0) return cut(random);
  archive.bytes[at] = static_cast<char>(archive.bytes[at] ^ (1 << random.between(0, 7)));
  return archive.bytes;
}

std::string format(Random& random) {
  Net net;
  const std::string versions[] = {
      "", "x\n", "0\n", "-3\n", "99999\n", "3.0\n", std::string(5000, '3'), std::string("3\0", 2)};
  if (random.chance(70)) {
    net.version = versions[random.index(std::size(versions))];
  } else {
    net.more.push_back({"byteorder", random.chance(50) ? "big" : "mixed"});
  }
  return packed(random, net);
}

std::string foreign(Random& random) {
  const std::string files[] = {"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.",
                               "\x80\x04K\x01.",
                               "\x7f"
                               "ELF\2\1\1",
                               "<!DOCTYPE html>",
                               "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
                               "\x08\x07\x12\x07pytorch",
                               "",
                               "PK",
                               "PK\5\6" + std::string(18, '\0')};
  const std::string& file = files[random.index(std::size(files))];
  return file.empty() ? file : file + junk(random);
}

}  // namespace

std::vector<Attack> zipAttacks() {
  return {{"names that leave the folder", "", path},
          {"members outside of the folder", "", outside},
          {"members hidden by upper case", "", upperCase},
          {"members named twice", "", twice},
          {"flags of encryption and patches", "", flags},
          {"unknown methods of compression", "", method},
          {"facts that differ between records", "", differs},
          {"names that differ between records", "", renamed},
          {"members that overlap", "", overlap},
          {"polyglots", "", polyglot},
          {"ZIP64 records that lie", "", zip64},
          {"sizes that lie, and bombs", "", bomb},
          {"files cut short", "", cut},
          {"contents that differ from their CRC", "", wrongContents},
          {"formats and byte orders that lie", "", format},
          {"files of other kinds", "", foreign}};
}

}  // namespace ipex_studio::testing
