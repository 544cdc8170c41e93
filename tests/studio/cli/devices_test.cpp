// The command devices and --device, with and without OpenCL: drivers fail in every way, the program in none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <tuple>

#include "studio/job/devices.h"
#include "tests/studio/cli/program.h"
#include "tests/studio/cli/samples.h"

namespace ipex_studio {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::modelFile;
using testing::Outcome;
using testing::Sandpit;
using ::testing::StartsWith;

namespace fs = std::filesystem;

constexpr char kPoclFile[] = "/etc/OpenCL/vendors/pocl.icd";

// Sets a variable of the environment until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_.empty()) {
      ::unsetenv(name_);
    } else {
      ::setenv(name_, before_.c_str(), 1);
    }
  }

 private:
  const char* name_;
  std::string before_;
};

bool hasLoader() { return std::system("/sbin/ldconfig -p | grep -q 'libOpenCL.so.1 '") == 0; }

// A machine whose only drivers are those of `drivers`: "made-up" with its behaviour, "pocl", or none.
class Machine {
 public:
  explicit Machine(const std::string& behaviour = "", bool pocl = false)
      : vendors_("OCL_ICD_VENDORS", folder(behaviour, pocl)), behaviour_("IPEX_MADE_UP_DRIVER", behaviour) {}

  const Sandpit& pit() const { return pit_; }

 private:
  std::string folder(const std::string& behaviour, bool pocl) const {
    fs::create_directory(pit_.path("vendors"));
    if (!behaviour.empty()) std::ofstream(pit_.path("vendors/a.icd")) << IPEX_BINARY_DIR "/libmade_up_driver.so\n";
    if (pocl) fs::copy_file(kPoclFile, pit_.path("vendors/pocl.icd"));
    return pit_.path("vendors");
  }

  Sandpit pit_;
  Variable vendors_, behaviour_;
};

std::string faultOf(const DeviceList& list) {
  EXPECT_EQ(list.faults.size(), 1u);
  EXPECT_EQ(list.devices.size(), 1u) << "the processor is always there";
  EXPECT_EQ(list.devices.front().asked_by, std::vector<std::string>{"cpu"});
  return list.faults.empty() ? "" : list.faults.front();
}

// Everything that needs a loader, but no driver of the machine.
class Devices : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!hasLoader()) GTEST_SKIP() << "no OpenCL loader here; samples/setup.sh --tests installs one";
  }
};

TEST_F(Devices, WithoutADriver) {
  const Machine machine;
  const Outcome list = machine.pit().run({"devices"});
  EXPECT_EQ(list.code, 0);
  EXPECT_THAT(list.out, HasSubstr("\nNo OpenCL driver is installed; install one by samples/setup.sh --xpu.\n"));
  EXPECT_EQ(list.err, "");
  const Outcome asked = machine.pit().run({"bench", modelFile("small.pt"), "--device", "xpu"});
  EXPECT_EQ(asked.code, 5);
  EXPECT_EQ(
      asked.err,
      "ipex-studio: --device xpu: no such Intel GPU with an OpenCL driver is here (no OpenCL driver is installed; "
      "install one by samples/setup.sh --xpu), or use --device cpu.\n");
}

TEST_F(Devices, OfADriverAreListedWithAllThatIsKnown) {
  const Machine machine("works");
  const Outcome text = machine.pit().run({"devices"});
  EXPECT_THAT(text.out, HasSubstr("opencl:0, xpu:0    Made-up GPU\n"));
  EXPECT_THAT(text.out, HasSubstr("Made-up 7.5, OpenCL 3.0 made up\n"));
  const auto list = nlohmann::json::parse(machine.pit().run({"devices", "--json"}).out);
  EXPECT_EQ(list["schema"], 1);
  EXPECT_EQ(list["faults"], nlohmann::json::array());
  ASSERT_EQ(list["devices"].size(), 2u);
  const auto& device = list["devices"][1];
  EXPECT_EQ(device["asked_by"], (nlohmann::json{"opencl:0", "xpu:0"}));
  EXPECT_EQ(device["memory_bytes"], std::int64_t{8} << 30);
  EXPECT_EQ(device["units"], 96);
  EXPECT_EQ(device["features"], (nlohmann::json{"fp16", "int8-dot-product", "svm"}));
  EXPECT_EQ(device["lacks"], "");
}

TEST_F(Devices, OfAnOldDriverSayWhatTheyLack) {
  const Machine machine("old");
  const DeviceList list = listDevices();
  ASSERT_EQ(list.devices.size(), 2u);
  EXPECT_EQ(list.devices[1].lacks, "its driver speaks \"OpenCL 1.1\", and 2.0 is the oldest that plans can use");
  const Outcome asked = machine.pit().run({"bench", modelFile("small.pt"), "--device", "xpu:0"});
  EXPECT_EQ(asked.code, 5);
  EXPECT_THAT(asked.err, HasSubstr("Made-up GPU cannot run plans: its driver speaks \"OpenCL 1.1\""));
}

TEST_F(Devices, WhoseDriverBabblesAreStillALine) {
  const Machine machine("babbles");
  const Outcome text = machine.pit().run({"devices"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("cannot run plans"));
  EXPECT_EQ(listDevices().devices.size(), 2u);
}

TEST_F(Devices, WithoutMemoryInTheDriver) {
  const Machine machine("no-memory");
  EXPECT_EQ(faultOf(listDevices()),
            "The OpenCL driver \"Made-up\" lists no devices (CL_OUT_OF_HOST_MEMORY, the host has too little memory).");
}

TEST_F(Devices, OfADriverThatCrashes) {
  const Machine machine("crash");
  EXPECT_EQ(faultOf(listDevices()),
            "An OpenCL driver crashed with signal 11 (Segmentation fault) while \"Made-up\" was asked for its devices; "
            "mend or remove it (drivers are listed in /etc/OpenCL/vendors).");
  EXPECT_EQ(machine.pit().run({"devices"}).code, 0);
  EXPECT_EQ(machine.pit().run({"bench", modelFile("small.pt"), "--device", "opencl"}).code, 5);
}

TEST_F(Devices, OfADriverThatEndsTheProgram) {
  const Machine machine("exit");
  EXPECT_THAT(faultOf(listDevices()), StartsWith("An OpenCL driver ended the program that asked it while \"Made-up\""));
}

TEST_F(Devices, OfADriverThatNeverAnswers) {
  for (const char* how : {"hang", "close"}) {
    const Machine machine(how);
    const auto begin = std::chrono::steady_clock::now();
    const std::string fault = faultOf(listDevices(1));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    EXPECT_THAT(fault, HasSubstr("while \"Made-up\" was asked for its devices")) << how;
  }
}

TEST_F(Devices, ThatAreNotThereAreNamedWithThoseThatAre) {
  const Machine machine("works");
  const Outcome asked = machine.pit().run({"bench", modelFile("small.pt"), "--device", "opencl:1"});
  EXPECT_EQ(asked.code, 5);
  EXPECT_EQ(asked.err,
            "ipex-studio: --device opencl:1: no such OpenCL device is here (found: opencl:0, xpu:0 (Made-up GPU)); "
            "install its driver by samples/setup.sh --xpu, or use --device cpu.\n");
}

TEST_F(Devices, OfAListMustAllBeThere) {
  const std::tuple<const char*, bool, const char*, const char*> cases[] = {
      {"", false, "cpu,xpu",
       "--device xpu: no such Intel GPU with an OpenCL driver is here (no OpenCL driver is installed"},
      {"works", false, "opencl:1,cpu", "--device opencl:1: no such OpenCL device is here (found: opencl:0, xpu:0"},
      {"works", true, "cpu,xpu,opencl:2",
       "--device opencl:2: no such OpenCL device is here (found: opencl:0, xpu:0 (Made-up GPU), opencl:1 ("}};
  for (const auto& [how, pocl, devices, sentence] : cases) {
    if (pocl && !fs::exists(kPoclFile)) continue;
    const Machine machine(how, pocl);
    const Outcome asked = machine.pit().run({"bench", modelFile("small.pt"), "--device", devices});
    EXPECT_EQ(asked.code, 5) << devices;
    EXPECT_THAT(asked.err, HasSubstr(sentence));
  }
  const Outcome unknown = Machine().pit().run({"bench", modelFile("small.pt"), "--device", "cpu,,opencl"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--device  is unknown; use cpu, xpu[:N] or opencl[:N]."));
}

TEST_F(Devices, OfWhichTwoAreHereHaveNumbers) {
  const Machine machine("two");
  const Outcome list = machine.pit().run({"devices"});
  EXPECT_EQ(list.code, 0);
  EXPECT_THAT(list.out, HasSubstr("opencl:0, xpu:0    Made-up GPU\n"));
  EXPECT_THAT(list.out, HasSubstr("opencl:1, xpu:1    Second made-up GPU\n"));
  const std::string found = "found: opencl:0, xpu:0 (Made-up GPU), opencl:1, xpu:1 (Second made-up GPU)";
  const std::string mend = "; install its driver by samples/setup.sh --xpu, or use --device cpu.\n";
  // The program names missing devices before it opens any; else it opens the first GPU, for which the driver cannot
  // compile, or the second, which is gone.
  const std::pair<const char*, std::string> cases[] = {
      {"cpu,xpu:2",
       "ipex-studio: --device xpu:2: no such Intel GPU with an OpenCL driver is here (" + found + ")" + mend},
      {"xpu,opencl:2,cpu", "ipex-studio: --device opencl:2: no such OpenCL device is here (" + found + ")" + mend},
      {"opencl:7", "ipex-studio: --device opencl:7: no such OpenCL device is here (" + found + ")" + mend},
      {"cpu,xpu", "error: nothing is known here); use --device cpu.\n"},
      {"opencl:0", "error: nothing is known here); use --device cpu.\n"},
      {"cpu,xpu:1",
       "The device Second made-up GPU failed to start (CL_DEVICE_NOT_AVAILABLE, the device is lost or taken); use "
       "--device cpu.\n"},
      {"opencl:1", "The device Second made-up GPU failed to start"}};
  for (const auto& [devices, sentence] : cases) {
    const Outcome asked = machine.pit().run({"bench", modelFile("small.pt"), "--device", devices});
    EXPECT_EQ(asked.code, 5) << devices;
    EXPECT_THAT(asked.err, HasSubstr(sentence)) << devices;
  }
}

TEST_F(Devices, OfAnotherVendorCountAsNoneOfIntels) {
  const Machine machine("mixed");
  const Outcome list = machine.pit().run({"devices"});
  EXPECT_THAT(list.out, HasSubstr("opencl:0           Made-up GPU\n"));
  EXPECT_THAT(list.out, HasSubstr("opencl:1, xpu:0    Second made-up GPU\n"));
  const Outcome first = machine.pit().run({"bench", modelFile("small.pt"), "--device", "cpu,xpu"});
  EXPECT_EQ(first.code, 5);
  EXPECT_THAT(first.err, HasSubstr("The device Second made-up GPU failed to start"));
  const Outcome second = machine.pit().run({"bench", modelFile("small.pt"), "--device", "cpu,xpu:1"});
  EXPECT_EQ(second.code, 5);
  EXPECT_THAT(second.err, HasSubstr("(found: opencl:0 (Made-up GPU), opencl:1, xpu:0 (Second made-up GPU))"));
}

TEST_F(Devices, ThatFailWhenTheyAreOpened) {
  const std::pair<const char*, const char*> failures[] = {
      {"lost",
       "The device Made-up GPU failed to start (CL_DEVICE_NOT_AVAILABLE, the device is lost or taken); use --device "
       "cpu."},
      {"no-compile",
       "(CL_BUILD_PROGRAM_FAILURE, the driver cannot compile the program: error: nothing is known here); use --device "
       "cpu."}};
  for (const auto& [how, sentence] : failures) {
    const Machine machine(how);
    const Outcome asked = machine.pit().run({"bench", modelFile("small.pt"), "--device", "xpu"});
    EXPECT_EQ(asked.code, 5) << how;
    EXPECT_THAT(asked.err, HasSubstr(sentence));
  }
}

TEST_F(Devices, OfPoclCanRunPlans) {
  if (!fs::exists(kPoclFile)) GTEST_SKIP() << "no PoCL here; samples/setup.sh --tests installs it";
  const Machine machine("", true);
  const DeviceList list = listDevices();
  EXPECT_TRUE(list.faults.empty());
  ASSERT_EQ(list.devices.size(), 2u);
  EXPECT_EQ(list.devices[1].asked_by, std::vector<std::string>{"opencl:0"});
  EXPECT_EQ(list.devices[1].platform, "Portable Computing Language");
  EXPECT_EQ(list.devices[1].lacks, "");
  const auto& features = list.devices[1].features;
  EXPECT_NE(std::find(features.begin(), features.end(), "svm"), features.end());
  const Outcome asked = machine.pit().run({"bench", modelFile("small.pt"), "--device", "xpu"});
  EXPECT_EQ(asked.code, 5);
  EXPECT_THAT(asked.err, HasSubstr("(found: opencl:0 ("));
}

// A device that runs plans, shared by the tests, since its programs are compiled once.
class PoclRuns : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (hasLoader() && fs::exists(kPoclFile)) machine_ = std::make_unique<Machine>("", true);
  }
  static void TearDownTestSuite() { machine_.reset(); }
  void SetUp() override {
    if (!machine_) GTEST_SKIP() << "no PoCL here; samples/setup.sh --tests installs it";
  }
  static Outcome benchSmall() {
    return machine_->pit().run({"bench", modelFile("small.pt"), "--input", "x:1x3x32x32", "--device", "opencl",
                                "--duration", "0.05", "--json"});
  }

  static std::unique_ptr<Machine> machine_;
};
std::unique_ptr<Machine> PoclRuns::machine_;

TEST_F(PoclRuns, AModelInTheSandbox) {
  const Outcome run = benchSmall();
  ASSERT_EQ(run.code, 0) << run.err;
  const auto runs = nlohmann::json::parse(run.out)["runs"];
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0]["device"], "cpu");
  EXPECT_EQ(runs[1]["device"], "opencl");
  const Outcome steps = machine_->pit().run({machine_->pit().path("data/ipex-studio/profile.db"), "--csv"});
  for (const char* kernel : {"convolution_xpu", "reduce_xpu", "linear_xpu"}) EXPECT_THAT(steps.out, HasSubstr(kernel));
  EXPECT_THAT(steps.out, ::testing::Not(HasSubstr("opencl:0 to cpu")))
      << "a processor writes results where they are wanted";
}

TEST_F(PoclRuns, CalibratesBeforeItRunsInIntegers) {
  const Sandpit& pit = machine_->pit();
  const Outcome run = pit.run({"run", modelFile("small.pt"), "--precision", "int8", "--data",
                               testing::writeSamples(pit.path("data.npy"), 16), "--device", "opencl", "--iterations",
                               "3", "--warmup", "0", "--db", pit.path("int8.db")});
  ASSERT_EQ(run.code, 0) << run.err;
  const Outcome steps = pit.run({pit.path("int8.db"), "--csv"});
  EXPECT_THAT(steps.out, HasSubstr("convolution_xpu"));
  EXPECT_THAT(steps.out, HasSubstr("int8"));
}

// Files of the folder with the times at which they were written.
std::map<std::string, fs::file_time_type> filesOf(const std::string& folder) {
  std::map<std::string, fs::file_time_type> files;
  if (!fs::exists(folder)) return files;
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() == ".bin") files[file.path()] = file.last_write_time();
  }
  return files;
}

TEST_F(PoclRuns, ASideBySideOfBothDevices) {
  const Sandpit& pit = machine_->pit();
  const std::vector<std::string> bench = {"bench",    modelFile("small.pt"), "--input",    "x:1x3x32x32",
                                          "--device", "cpu,opencl",          "--duration", "0.05",
                                          "--db",     pit.path("both.db")};
  std::vector<std::string> as_json = bench;
  as_json.emplace_back("--json");
  const Outcome run = pit.run(as_json);
  ASSERT_EQ(run.code, 0) << run.err;
  const auto result = nlohmann::json::parse(run.out);
  ASSERT_EQ(result["runs"].size(), 3u);
  EXPECT_EQ(result["runs"][1]["device"], "cpu");
  EXPECT_EQ(result["runs"][2]["device"], "opencl");
  ASSERT_EQ(result["devices"].size(), 1u);
  for (const auto& on : result["devices"][0]["runs"]) EXPECT_EQ(on["copies"], 0) << "both are processors";
  int compared = 0;
  for (const auto& node : result["devices"][0]["nodes"]) {
    const auto &cpu = node["on"][0], &device = node["on"][1];
    if (std::string(device["kernels"]).find("convolution_xpu") == std::string::npos) continue;
    EXPECT_GT(cpu["ms"], 0) << node;
    EXPECT_GT(device["ms"], 0) << node;
    EXPECT_THAT(std::string(cpu["kernels"]), ::testing::Not(HasSubstr("xpu")));
    ASSERT_TRUE(cpu["error"].is_number() && device["error"].is_number()) << node;
    EXPECT_LT(double{device["error"]}, 1e-4);
    ++compared;
  }
  EXPECT_GE(compared, 1);
  const Outcome compare = pit.run({"compare", pit.path("both.db"), "2", "3"});
  EXPECT_THAT(compare.out, HasSubstr("optimized fp32 on opencl"));
  EXPECT_THAT(compare.out, HasSubstr("reduce_xpu"));
  EXPECT_THAT(pit.run(bench).out, HasSubstr("devices side by side, fp32\ncpu: "));
}

TEST_F(PoclRuns, BesideAnotherDevice) {
  const Machine machine("works", true);
  const auto list = nlohmann::json::parse(machine.pit().run({"devices", "--json"}).out)["devices"];
  const auto pocl = std::find_if(list.begin(), list.end(), [](const nlohmann::json& device) {
    return device["platform"] == "Portable Computing Language";
  });
  ASSERT_NE(pocl, list.end());
  const std::string device = (*pocl)["asked_by"][0];
  // Its programs are those that the tests share.
  const Sandpit& pit = machine_->pit();
  const Outcome run = pit.run({"bench", modelFile("small.pt"), "--input", "x:1x3x32x32", "--device", "cpu," + device,
                               "--duration", "0.05", "--json", "--db", pit.path("beside.db")});
  ASSERT_EQ(run.code, 0) << run.err;
  const auto runs = nlohmann::json::parse(run.out)["runs"];
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[1]["device"], "cpu");
  EXPECT_EQ(runs[2]["device"], device);
  std::set<std::string> devices;
  const auto steps = nlohmann::json::parse(pit.run({pit.path("beside.db"), "--panel", "operations", "--json"}).out);
  for (const auto& row : steps["rows"]) devices.insert(row["device"]);
  EXPECT_EQ(devices, (std::set<std::string>{"cpu", device}));
  const Outcome other = pit.run({"bench", modelFile("small.pt"), "--device", "cpu," + device + ",xpu"});
  EXPECT_EQ(other.code, 5);
  EXPECT_THAT(other.err, HasSubstr("error: nothing is known here); use --device cpu."));
}

TEST_F(PoclRuns, ExportOfAListIsOfItsLast) {
  const Sandpit& pit = machine_->pit();
  const auto run = [&](const char* devices, const char* file) {
    return pit.run({"run", modelFile("small.pt"), "--input", "x:1x3x32x32", "--device", devices, "--duration", "0.05",
                    "-o", pit.path(file)});
  };
  EXPECT_EQ(run("opencl,cpu", "of_list.pt").code, 0);
  EXPECT_TRUE(fs::exists(pit.path("of_list.pt")));
  const Outcome wrong = run("cpu,opencl", "none.pt");
  EXPECT_EQ(wrong.code, 5);
  EXPECT_EQ(wrong.err,
            "ipex-studio: -o: what runs on opencl cannot be exported; the last device is what is exported: name cpu "
            "last.\n");
}

TEST_F(PoclRuns, CompileOnce) {
  const std::string folder = machine_->pit().path("cache/ipex-studio/programs");
  prepareDevice("opencl", folder);
  const auto before = filesOf(folder);
  EXPECT_GE(before.size(), 5u);
  ASSERT_EQ(benchSmall().code, 0);
  for (const auto& [path, time] : before) EXPECT_EQ(fs::last_write_time(path), time) << "compiled again";
}

TEST_F(PoclRuns, KilledAtAnyTimeLeaveCacheAndDatabaseWhole) {
  const Machine machine("", true);
  const Sandpit& pit = machine.pit();
  const std::vector<std::string> bench = {"bench",    modelFile("small.pt"), "--input",    "x:1x3x32x32",
                                          "--device", "cpu,opencl",          "--duration", "0.5"};
  const std::string folder = pit.path("cache/ipex-studio/programs");
  std::mt19937 random(7);
  const int kills = std::getenv("IPEX_CAMPAIGN") != nullptr ? 100 : 4;
  for (int kill = 0; kill < kills; ++kill) {
    // Every other time programs are compiled anew, which takes most of the time until the kill.
    if (kill % 2 == 0) fs::remove_all(pit.path("cache"));
    const pid_t pid = pit.start(bench);
    ::usleep(std::uniform_int_distribution<useconds_t>(50'000, 3'000'000)(random));
    ::kill(pid, SIGKILL);
    testing::waitFor(pid);
    const auto left = filesOf(folder);
    prepareDevice("opencl", folder);
    for (const auto& [path, time] : left) EXPECT_EQ(fs::last_write_time(path), time) << "was damaged and made anew";
    const Outcome list = pit.run({"db", "list"});
    if (list.code != 0) {
      EXPECT_THAT(list.err, AnyOf(HasSubstr("does not exist"), HasSubstr("is empty: no run")));
    }
  }
  const Outcome run = pit.run(bench);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("Recorded as job"));
}

TEST_F(PoclRuns, HostileModelsGainNothing) {
  for (const char* model : {"from_file.pt", "write_on_load.pt"})
    machine_->pit().run({"bench", modelFile(model), "--device", "opencl", "--duration", "0.05"});
  EXPECT_FALSE(fs::exists(testing::victimFile()));
}

TEST_F(PoclRuns, ExportNothing) {
  const Outcome run =
      machine_->pit().run({"run", modelFile("small.pt"), "--device", "opencl", "-o", machine_->pit().path("fast.pt")});
  EXPECT_EQ(run.code, 5);
  EXPECT_EQ(run.err, "ipex-studio: -o: what runs on opencl cannot be exported; use --device cpu.\n");
}

TEST_F(PoclRuns, NeedAFolderForPrograms) {
  const Outcome run = machine_->pit().runProgram(
      {"env", "XDG_CACHE_HOME=/proc/nowhere", "POCL_CACHE_DIR=" + machine_->pit().path("cache"), testing::programPath(),
       "bench", modelFile("small.pt"), "--device", "opencl"});
  EXPECT_EQ(run.code, 5);
  EXPECT_THAT(run.err,
              HasSubstr("Compiled programs need the folder /proc/nowhere/ipex-studio/programs, which cannot be "
                        "written; set XDG_CACHE_HOME."));
}

TEST(DevicesWithoutLoader, AreTheProcessorAndASentence) {
  const Sandpit pit;
  // A file of that name that is no library is found first and cannot be opened.
  std::ofstream(pit.path("libOpenCL.so.1")) << "nothing";
  const Variable path("LD_LIBRARY_PATH", pit.path());
  EXPECT_EQ(faultOf(listDevices()),
            "No OpenCL loader (libOpenCL.so.1) was found; install one and a driver by samples/setup.sh --xpu.");
  const Outcome asked = pit.run({"bench", modelFile("small.pt"), "--device", "xpu"});
  EXPECT_EQ(asked.code, 5);
  EXPECT_THAT(asked.err, HasSubstr("no OpenCL loader"));
}

}  // namespace
}  // namespace ipex_studio
