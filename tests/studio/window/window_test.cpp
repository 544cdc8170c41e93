// The real window, under Xvfb if there is no display: screenshots have the right size and show a picture.
#include "studio/window/window.h"

#include <GLFW/glfw3.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stb_image.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "tests/studio/display.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

class WindowTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { display_ = std::make_unique<testing::Display>(); }
  static void TearDownTestSuite() { display_.reset(); }

  void SetUp() override {
    ASSERT_TRUE(display_->ready()) << "There is no display and Xvfb did not start; install the package xvfb.";
    std::string pattern = ::testing::TempDir() + "window_test_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  struct Picture {
    int width = 0;
    int height = 0;
    std::size_t colors = 0;
  };
  static Picture load(const std::string& path) {
    Picture picture;
    int channels = 0;
    unsigned char* pixels = stbi_load(path.c_str(), &picture.width, &picture.height, &channels, 4);
    if (pixels == nullptr) return picture;
    std::set<unsigned> colors;
    for (int i = 0; i < picture.width * picture.height; ++i) {
      colors.insert(pixels[i * 4] | pixels[i * 4 + 1] << 8 | pixels[i * 4 + 2] << 16);
    }
    stbi_image_free(pixels);
    picture.colors = colors.size();
    return picture;
  }

  std::filesystem::path folder_;
  static std::unique_ptr<testing::Display> display_;
};
std::unique_ptr<testing::Display> WindowTest::display_;

TEST_F(WindowTest, ScreenshotOfTheWholeStudio) {
  WindowOptions options;
  options.width = 1600;
  options.height = 900;
  options.screenshot_path = folder_ / "studio.png";
  testing::FixedSource source(testing::resnetSnapshot());
  EXPECT_EQ(runWindow(options, source), 0);
  const Picture picture = load(options.screenshot_path);
  EXPECT_EQ(picture.width, 1600);
  EXPECT_EQ(picture.height, 900);
  EXPECT_GT(picture.colors, 200U);
  EXPECT_TRUE(source.posted.empty());
}

TEST_F(WindowTest, ScreenshotOfEachPanel) {
  for (const std::string& panel : panelNames()) {
    WindowOptions options;
    options.width = 700;
    options.height = 300;
    options.theme = "light";
    options.panel = panel;
    options.screenshot_path = folder_ / (panel + ".png");
    testing::FixedSource source(testing::resnetSnapshot());
    EXPECT_EQ(runWindow(options, source), 0);
    const Picture picture = load(options.screenshot_path);
    EXPECT_EQ(picture.width, 700);
    EXPECT_EQ(picture.height, 300);
    EXPECT_GT(picture.colors, 20U) << panel;
  }
}

TEST_F(WindowTest, NothingOpenIsAPictureToo) {
  WindowOptions options;
  options.screenshot_path = folder_ / "empty.png";
  testing::FixedSource source(makeSnapshot(nullptr, {}, nullptr));
  EXPECT_EQ(runWindow(options, source), 0);
  EXPECT_EQ(load(options.screenshot_path).width, options.width);
}

TEST_F(WindowTest, ScriptsWalkThroughTheStudio) {
  WindowOptions options;
  options.width = 1600;
  options.height = 900;
  options.script_path = folder_ / "walk.txt";
  testing::FixedSource source(testing::resnetSnapshot());
  const std::string picture = folder_ / "walk.png";
  std::ofstream(options.script_path) << "# open, scrub, find the costly reorder\n"
                                        "wait settled\nexpect state done\n"
                                        "scrub fold-batch-norm\nwait settled\nexpect pass fold-batch-norm\n"
                                        "select layer1.0.conv2\nwait settled\nexpect selected 1\n"
                                        "do graph.fold\nwait settled\ndo graph.unfold-all\ndo graph.zoom-selection\n"
                                        "do color.kernel\ndo tab.text\ndo compare.previous\ndo shortcuts\n"
                                        "wait settled\nwait 0.05\nscreenshot "
                                     << picture << "\nexpect blocked 0\ndo run.optimize\nwait settled\n";
  options.screenshot_path = folder_ / "end.png";
  options.report_path = folder_ / "end.html";
  EXPECT_EQ(runWindow(options, source), 0);
  EXPECT_GT(load(picture).colors, 100U);
  EXPECT_GT(load(options.screenshot_path).colors, 100U);
  EXPECT_GT(std::filesystem::file_size(options.report_path), 1000U);
  ASSERT_EQ(source.posted.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<OptimizeCommand>(source.posted[0]));
}

TEST_F(WindowTest, ScriptsThatFailSayWhere) {
  WindowOptions options;
  options.script_path = folder_ / "bad.txt";
  testing::FixedSource source(testing::resnetSnapshot());
  const auto messageOf = [&](const std::string& text) -> std::string {
    std::ofstream(options.script_path) << text;
    try {
      runWindow(options, source);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(messageOf("\nexpect state failed\n"), ::testing::HasSubstr("Line 2"));
  EXPECT_THAT(messageOf("dance wildly\n"), ::testing::HasSubstr("no step"));
  EXPECT_THAT(messageOf("do nothing.at-all\n"), ::testing::HasSubstr("no action"));
  EXPECT_THAT(messageOf("select no-such-node-%n\n"), ::testing::HasSubstr("no node"));
  EXPECT_THAT(messageOf("scrub no-such-pass\n"), ::testing::HasSubstr("no pass"));
}

TEST_F(WindowTest, BadRequestsAreRefused) {
  testing::FixedSource source(testing::resnetSnapshot());
  const auto codeOf = [&](const WindowOptions& options) {
    try {
      runWindow(options, source);
    } catch (const Error& error) {
      return error.code();
    }
    return ExitCode::kOk;
  };
  WindowOptions options;
  options.screenshot_path = folder_ / "no" / "such" / "folder.png";
  EXPECT_EQ(codeOf(options), ExitCode::kFailure);
  options.screenshot_path = folder_ / "x.png";
  options.panel = "nonsense";
  EXPECT_EQ(codeOf(options), ExitCode::kUsage);
  options.panel.clear();
  options.theme = "pink";
  EXPECT_EQ(codeOf(options), ExitCode::kUsage);
  options.theme = "dark";
  options.width = 3;
  EXPECT_EQ(codeOf(options), ExitCode::kUsage);
}

// The current window in a frame is the real one, with the callbacks that the window system calls.
TEST_F(WindowTest, FilesDroppedOntoTheWindowAreOpened) {
  WindowOptions options;
  testing::FixedSource source(testing::resnetSnapshot());
  int frames = 0;
  options.after_frame = [&](const FrameStatistics&) {
    GLFWwindow* window = glfwGetCurrentContext();
    const GLFWdropfun dropped = glfwSetDropCallback(window, nullptr);
    EXPECT_NE(dropped, nullptr);
    glfwSetDropCallback(window, dropped);
    if (dropped == nullptr) return false;
    const char* const first[] = {"/models/a b%n\n.pt", "/models/second.pt"};
    if (frames == 0) dropped(window, 0, nullptr);
    if (frames == 1) dropped(window, 2, const_cast<const char**>(first));
    source.wake();
    return ++frames < 3;
  };
  EXPECT_EQ(runWindow(options, source), 0);
  ASSERT_EQ(source.posted.size(), 1U) << "nothing for nothing, and the first of several";
  ASSERT_TRUE(std::holds_alternative<OpenCommand>(source.posted[0]));
  EXPECT_EQ(std::get<OpenCommand>(source.posted[0]).path, "/models/a b%n\n.pt");
}

// Says that something is timed, and counts the frames that are drawn meanwhile.
class TimingSource : public testing::FixedSource {
 public:
  TimingSource() : FixedSource(testing::resnetSnapshot()) {}
  bool timed() override { return timing; }
  void drew(std::int64_t begin_ns, std::int64_t end_ns, bool) override {
    EXPECT_LE(begin_ns, end_ns);
    ++frames;
  }
  std::atomic<bool> timing{false};
  std::atomic<int> frames{0};
};

TEST_F(WindowTest, NewsWaitWhileSomethingIsTimed) {
  WindowOptions options;
  options.width = 640;
  options.height = 400;
  TimingSource source;
  int drawn = 0;
  std::atomic<bool> done{false};
  int by_news = -1, afterwards = -1;
  GLFWwindow* window = nullptr;
  std::thread other;
  options.after_frame = [&](const FrameStatistics&) {
    if (++drawn == 1) {
      window = glfwGetCurrentContext();
      other = std::thread([&] {
        const auto rest = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
        rest(1500);  // layouts are done, the window is idle
        source.timing = true;
        const int before = source.frames;
        for (int i = 0; i < 20; ++i) {
          source.wake();
          rest(20);
        }
        by_news = source.frames - before;
        source.timing = false;
        source.wake();
        rest(300);
        afterwards = source.frames - before;
        done = true;
        source.wake();
      });
    }
    return !done;
  };
  EXPECT_EQ(runWindow(options, source), 0);
  other.join();
  EXPECT_NE(window, nullptr);
  EXPECT_EQ(by_news, 0) << "news were drawn while something was timed";
  EXPECT_GE(afterwards, 1) << "what waited is drawn afterwards";
}

TEST_F(WindowTest, WithoutADisplayTheErrorSaysWhatToDo) {
  const std::string display = std::getenv("DISPLAY");
  unsetenv("DISPLAY");
  testing::FixedSource source(testing::resnetSnapshot());
  try {
    runWindow({}, source);
    ADD_FAILURE() << "a window opened without a display";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnsupported);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("ipex-studio run"));
  }
  setenv("DISPLAY", display.c_str(), 1);
}

}  // namespace
}  // namespace ipex_studio
