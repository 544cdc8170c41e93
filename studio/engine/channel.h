// The engine's end of the line to the studio.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/record/records.h"
#include "studio/protocol/protocol.h"

namespace ipex_studio {

// Sending ends the process when the studio is gone: there is nobody left to work for. Not thread-safe.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}

  void send(const nlohmann::json& message);
  // `timed`: the next stage is timed, so the studio should do nothing meanwhile.
  void progress(const std::string& stage, double fraction, bool timed = false);
  void log(const std::string& text, bool warning = false);
  template <class Record>
  void record(const char* type, const Record& record);
  // The next request; ends the process when there will be none.
  nlohmann::json receive();

 private:
  int fd_;
  FrameReader reader_;
};

// Forwards the library's reports while it works.
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
