// Files of other kinds, damaged files and what a download left: each is refused by a sentence that names it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "core/file/pt_file.h"
#include "tests/core/file/pt_file_fixture.h"

namespace ipex_studio {
namespace {

using namespace ipex_studio::testing;
using ::testing::HasSubstr;

class PtFileOnDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "pt_file_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << bytes;
    return folder_ + "/" + name;
  }
  static std::string refusal(const std::string& path) {
    try {
      const int fd = openModelFile(path);
      try {
        inspectPtFile(fd, path);
      } catch (...) {
        ::close(fd);
        throw;
      }
      ::close(fd);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadModel);
      return error.what();
    }
    return "accepted";
  }
  std::string hint(const std::string& path) const {
    return "export it with torch.jit.save(torch.jit.script(model), '" + path.substr(0, path.rfind('.')) +
           ".torchscript.pt').";
  }
  std::string folder_;
};

TEST_F(PtFileOnDisk, AcceptsASoundFile) { EXPECT_EQ(refusal(write("net.pt", Net().bytes())), "accepted"); }

TEST_F(PtFileOnDisk, NamesWhatIsNoFile) {
  EXPECT_EQ(refusal(folder_ + "/none.pt"), "There is no file '" + folder_ + "/none.pt'.");
  EXPECT_EQ(refusal(folder_), "'" + folder_ + "' is a directory; name the TorchScript .pt file inside it.");
  const std::string empty = write("empty.pt", "");
  EXPECT_EQ(refusal(empty), "'" + empty + "' is empty; copy or export the model again.");
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal(pipe), "'" + pipe + "' is not a regular file; copy the model to disk first.");
}

TEST_F(PtFileOnDisk, NamesTruncation) {
  const std::string good = Net().bytes();
  for (std::size_t bytes : {good.size() - 1, good.size() / 2, std::size_t{30}}) {
    const std::string path = write("cut.pt", good.substr(0, bytes));
    EXPECT_EQ(refusal(path), "'" + path + "' is cut short or has bytes appended: no ZIP directory ends at its " +
                                 std::to_string(bytes) + " bytes; copy or download it again.");
  }
}

TEST_F(PtFileOnDisk, NamesTheDamagedMember) {
  ZipWriter zip = Net().write();
  std::string bad = zip.finish();
  bad[zip.places[0].data + 5] ^= 0x40;
  const std::string path = write("flipped.pt", bad);
  EXPECT_THAT(refusal(path),
              HasSubstr("'" + path + "' is damaged: member 'net/data/0' fails its CRC check (declared "));
}

TEST_F(PtFileOnDisk, NamesOnnx) {
  std::string graph = "\x0a\x05\x0a\x01x\x12\x01y\x12\x01g";
  const std::string path = write("net.onnx",
                                 "\x08\x07\x12\x07pytorch\x1a\x03"
                                 "1.0"
                                 ":" +
                                     std::string(1, static_cast<char>(graph.size())) + graph);
  EXPECT_EQ(refusal(path),
            "'" + path +
                "' is an ONNX model, not a TorchScript model; export the PyTorch model it came from with "
                "torch.jit.save(torch.jit.script(model), '" +
                folder_ + "/net.torchscript.pt').");
}

TEST_F(PtFileOnDisk, NamesWhatADownloadOrCheckOutLeft) {
  const std::string pointer =
      write("lfs.pt", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
  EXPECT_EQ(refusal(pointer),
            "'" + pointer +
                "' is a Git LFS pointer, which stands for a model that is not here; run `git lfs pull` "
                "in its repository, or download the file itself.");
  for (const char* text : {"<!DOCTYPE html><html>", "\n  <html lang=\"en\">", "\xef\xbb\xbf<HTML>", "<!-- x --><html>",
                           "<head><title>Sign in</title>"}) {
    const std::string page = write("page.pt", text + std::string(600, ' '));
    EXPECT_EQ(refusal(page), "'" + page +
                                 "' is a web page (HTML), not a model: the download got a page or a message of the "
                                 "server instead; open the address in a browser and take the link of the file itself.");
  }
  EXPECT_THAT(refusal(write("xml.pt", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>")),
              HasSubstr("is an XML document, not a model"));
  EXPECT_THAT(refusal(write("json.pt", "{\"error\": \"Repository not found\"}")),
              HasSubstr("is a JSON text, not a model"));
  EXPECT_THAT(refusal(write("model.pt.gz", std::string("\x1f\x8b\x08\x00\x00\x00", 6))),
              HasSubstr("is packed with gzip; unpack it and name the model inside."));
  EXPECT_THAT(refusal(write("short.pt", "v")), HasSubstr("is no ZIP archive"));
}

TEST_F(PtFileOnDisk, NamesPickles) {
  ZipWriter zip;
  zip.add("sd/data.pkl", pickled(global("collections", "OrderedDict") + ")R"));
  zip.add("sd/version", "3\n");
  const std::string state = write("state.pt", zip.finish());
  EXPECT_EQ(refusal(state), "'" + state + "' is a pickled state dict, not a TorchScript model; " + hint(state));

  ZipWriter whole;
  whole.add("m/data.pkl", pickled(global("torch.nn.modules.linear", "Linear") + ")\x81}b"));
  const std::string module = write("module.pt", whole.finish());
  EXPECT_EQ(refusal(module), "'" + module + "' is a pickled Python module, not a TorchScript model; " + hint(module));

  const std::string old = write("old.pt", std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15));
  EXPECT_EQ(
      refusal(old),
      "'" + old + "' is a pickled checkpoint in the format before PyTorch 1.6, not a TorchScript model; " + hint(old));
  const std::string python = write("python.pkl", "\x80\x04K\x01.");
  EXPECT_EQ(refusal(python), "'" + python + "' is a Python pickle, not a TorchScript model; " + hint(python));
}

TEST_F(PtFileOnDisk, NamesOtherArchives) {
  ZipWriter legacy;
  legacy.add("m/model.json", "{}");
  EXPECT_THAT(refusal(write("legacy.pt", legacy.finish())), HasSubstr("was written by PyTorch 1.0 or 1.1"));
  ZipWriter exported;
  exported.add("archive_format", "pt2");
  EXPECT_THAT(refusal(write("model.pt2", exported.finish())), HasSubstr("is an archive of torch.export"));
  ZipWriter other;
  other.add("word/document.xml", "<x/>");
  EXPECT_THAT(refusal(write("other.docx", other.finish())), HasSubstr("is a ZIP archive of something else"));
  EXPECT_THAT(refusal(write("text.pt", "hello world")), HasSubstr("is no ZIP archive"));
}

}  // namespace
}  // namespace ipex_studio
