// Time until the window appears, against a bare Dear ImGui window, and its cost while nothing happens.
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <gtest/gtest.h>
#include <imgui.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "studio/window/window.h"
#include "tests/goal.h"
#include "tests/studio/display.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWidth = 1600;
constexpr int kHeight = 900;

// Shows the least program that uses Dear ImGui, until its first frame is on the screen.
void bareWindow() {
  glfwInit();
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 2);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  GLFWwindow* window = glfwCreateWindow(kWidth, kHeight, "bare", nullptr, nullptr);
  if (window == nullptr) _exit(3);
  glfwMakeContextCurrent(window);
  ImGui::CreateContext();
  ImGui_ImplGlfw_InitForOpenGL(window, true);
  ImGui_ImplOpenGL3_Init("#version 150");
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  ImGui::NewFrame();
  ImGui::Begin("window");
  ImGui::TextUnformatted("text");
  ImGui::End();
  ImGui::Render();
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  glfwSwapBuffers(window);
}

void studioWindow(const SnapshotPtr& snapshot) {
  WindowOptions options;
  options.width = kWidth;
  options.height = kHeight;
  options.after_frame = [](const FrameStatistics&) { return false; };
  testing::FixedSource source(snapshot);
  runWindow(options, source);
}

// Runs each in a process of its own, as a user starts it: nothing of the driver is loaded yet.
template <class Show>
double firstFrameMs(const Show& show) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const auto begin = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    show();
    glFinish();
    const char shown = 1;
    _exit(write(ends[1], &shown, 1) == 1 ? 0 : 1);
  }
  close(ends[1]);
  char shown = 0;
  const bool good = read(ends[0], &shown, 1) == 1;
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return good ? ms : -1;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

TEST(WindowTestSpeed, FirstFrameWithinTwiceABareWindow) {
  const testing::Display display;
  ASSERT_TRUE(display.ready());
  const SnapshotPtr empty = makeSnapshot(nullptr, {}, nullptr);
  const SnapshotPtr full = testing::resnetSnapshot();
  std::vector<double> bare;
  std::vector<double> studio;
  std::vector<double> ratios;
  for (int i = 0; i < 7; ++i) {
    bare.push_back(firstFrameMs(bareWindow));
    studio.push_back(firstFrameMs([&] { studioWindow(i % 2 == 0 ? empty : full); }));
    ASSERT_GT(bare.back(), 0);
    ASSERT_GT(studio.back(), 0);
    ratios.push_back(studio.back() / bare.back());
  }
  std::printf("first frame: bare %.0f ms, studio %.0f ms\n", median(bare), median(studio));
  expectWithin("first frame, against a bare window's", median(ratios), 2, "times");
}

double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

TEST(WindowTestSpeed, IdleDrawsNothing) {
  const testing::Display display;
  ASSERT_TRUE(display.ready());
  testing::FixedSource source(testing::resnetSnapshot());
  std::atomic<std::int64_t> frames{0};
  std::atomic<bool> done{false};
  std::int64_t idle_frames = -1;
  double idle_share = 1;
  std::thread caller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    const std::int64_t frames_before = frames;
    const double cpu_before_s = cpuSeconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    idle_share = (cpuSeconds() - cpu_before_s) / 2.5;
    idle_frames = frames - frames_before;
    done = true;
    source.wake();
  });
  WindowOptions options;
  options.width = kWidth;
  options.height = kHeight;
  options.after_frame = [&](const FrameStatistics& statistics) {
    frames = statistics.frames;
    return !done;
  };
  runWindow(options, source);
  caller.join();
  EXPECT_GT(frames, 2);
  EXPECT_EQ(idle_frames, 0) << "frames were drawn although nothing happened";
  expectWithin("idle window", idle_share * 100, 0.5, "% of a core");
}

}  // namespace
}  // namespace ipex_studio
