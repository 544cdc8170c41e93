// Short forms of libtorch's messages.
#include <gtest/gtest.h>

#include <stdexcept>

#include "core/torch/torch_error.h"

namespace ipex_studio {
namespace {

TEST(TorchError, SaysTheFirstLineThatSaysSomething) {
  EXPECT_EQ(
      shortMessage(std::runtime_error("\nArguments for call are not valid.\nThe following variants are available:\n")),
      "Arguments for call are not valid");
  EXPECT_EQ(shortMessage(std::runtime_error("trace\nRuntimeError: sizes differ.\nmore")), "sizes differ");
  EXPECT_EQ(shortMessage(std::runtime_error("\n \n")), "");
}

TEST(TorchError, NamesTheOperatorThatIsMissing) {
  const Error error =
      loadError("m.pt", std::runtime_error("\nUnknown builtin op: aten::brand_new.\nHere are some suggestions"));
  EXPECT_EQ(error.code(), ExitCode::kBadModel);
  EXPECT_NE(std::string(error.what()).find("the operator aten::brand_new, which libtorch"), std::string::npos)
      << error.what();
}

// As libtorch says it of one form and of several.
TEST(TorchError, NamesTheOperatorWhoseArgumentsAreNewer) {
  for (const char* text :
       {"\nArguments for call are not valid.\nThe following variants are available:\n  \n  aten::stft(Tensor self, int "
        "n_fft) -> Tensor:\n  Expected at most 8 arguments but found 9 positional arguments.\n  \n  "
        "aten::stft.center(Tensor self, int n_fft) -> Tensor:\n",
        "\naten::stft(Tensor self) -> Tensor:\nExpected at most 1 arguments but found 2 positional arguments.\n"}) {
    const Error error = loadError("m.pt", std::runtime_error(text));
    EXPECT_EQ(error.code(), ExitCode::kBadModel);
    EXPECT_NE(std::string(error.what()).find("'m.pt' calls the operator aten::stft with arguments that libtorch"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace ipex_studio
