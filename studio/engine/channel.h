// The engine's end of the line to the studio.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/record/records.h"
#include "studio/protocol/protocol.h"

namespace ipex_studio {

// Sends and receives frames; not thread-safe. A call ends the process when the studio is gone, since there is nobody
// left to work for.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}

  void send(const nlohmann::json& message);
  // Reports the stage of the job. `timed`: the stage is timed, so the studio should do nothing meanwhile.
  void progress(const std::string& stage, double fraction, bool timed = false);
  void log(const std::string& text, bool warning = false);
  template <class Record>
  void record(const char* type, const Record& record);
  // Waits for the next request; ends the process when no more will come.
  nlohmann::json receive();
  // True if receive() would not wait long: part of a request has come.
  bool hasNews() const;

 private:
  int fd_;
  FrameReader reader_;
};

// Forwards the reports of a running optimization to the studio.
class ChannelObserver : public Observer {
 public:
  ChannelObserver(Channel& channel, int passes) : channel_(channel), passes_(passes) {}
  void onPass(const PassRecord& pass) override;
  void onRemark(const Remark& remark) override;
  void onDispatch(const DispatchRecord& dispatch) override;
  void onStep(const StepRecord& step) override;

 private:
  Channel& channel_;
  int passes_;
};

}  // namespace ipex_studio
