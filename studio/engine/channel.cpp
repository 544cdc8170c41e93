// Frames to and from the studio, and reports of the library as frames.
#include "studio/engine/channel.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "core/record/records_json.h"
#include "core/record/source_record.h"
#include "core/record/warning_reasons.h"

namespace ipex_studio {

void Channel::send(const nlohmann::json& message) {
  if (!writeFrame(fd_, message)) ::_exit(0);
}

void Channel::progress(const std::string& stage, double fraction, bool timed) {
  send({{"type", "progress"}, {"stage", stage}, {"fraction", fraction}, {"timed", timed}});
}

void Channel::log(const std::string& text, bool warning) {
  send({{"type", "log"}, {"level", warning ? "warning" : "info"}, {"text", text.substr(0, 4000)}});
}

template <class Record>
void Channel::record(const char* type, const Record& record) {
  send({{"type", type}, {"record", toJson(record)}});
}

template void Channel::record(const char*, const ModelRecord&);
template void Channel::record(const char*, const GraphSnapshot&);
template void Channel::record(const char*, const SourceRecord&);

nlohmann::json Channel::receive() {
  auto message = readFrame(fd_, reader_);
  if (!message) ::_exit(0);
  return std::move(*message);
}

bool Channel::hasNews() const {
  pollfd entry{fd_, POLLIN, 0};
  return reader_.hasPartial() || ::poll(&entry, 1, 0) == 1;
}

void ChannelObserver::onPass(const PassRecord& pass) {
  channel_.record("pass", pass);
  channel_.progress(pass.name, 0.2 + 0.5 * std::min(1.0, static_cast<double>(pass.index) / std::max(1, passes_)));
}

void ChannelObserver::onRemark(const Remark& remark) {
  channel_.record("remark", remark);
  if (remark.reason == kLeftOutReason) channel_.log(remark.text, true);
}

void ChannelObserver::onDispatch(const DispatchRecord& dispatch) { channel_.record("dispatch", dispatch); }

void ChannelObserver::onStep(const StepRecord& step) { channel_.record("step", step); }

}  // namespace ipex_studio
