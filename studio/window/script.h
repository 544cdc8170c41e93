// Drives the window from a file, one line a step: for tests, pictures and walk-throughs.
//
//   open PATH            a model or a database of recorded runs
//   wait settled         until nothing is under way and the layouts are done
//   wait SECONDS
//   wait KEY VALUE       until what `expect` would ask of stage, findings, tradeoffs, decisions or tries is so
//   scrub PASS           a pass by name or number
//   select WORDS         the first node after that pass that contains all words
//   key KEYS             keys pressed together: Tab, Shift+Tab, Escape, Enter, Space, Ctrl+Shift+B …
//   do ACTION            an action of the command palette: graph.fit, color.kernel, tab.text, run.optimize …
//   expect KEY VALUE     state, pass, selected (at least so many nodes' origins), nodes (of the graph after the pass),
//                        blocked (frames of ours over 100 ms), dialogs (1 while a dialog or menu is open),
//                        export (done, failed …), lamp (quiet, busy, throttled or nothing); message, stage (of the
//                        job), recipe, kernel (of what is selected), status (the line at the bottom), next (what is
//                        recommended to press, and why) contain VALUE; passes, findings, tradeoffs, decisions, tries,
//                        gains (of passes), bars (of the waterfall), points (of curves), advice, asked (for other
//                        inputs), models and pinned (of the library), compared (runs side by side) are at least so many
//   screenshot FILE.png
//   report FILE          what is on the screen, as .html or .png
//   trust ANSWER         sandbox, trust or refuse
//   export FILE [FORM] [PRECISION] [untuned] [prepared] [replace]
//   tune GOAL KEY=VALUE… calibrate, quantize, search or kernels; data, preprocess, metric, recipe, save, method,
//                        samples, drop, sqnr, budget, restart
//   curves SECONDS [N,…] curves of the open model, measured for so long at these batch sizes
//   flags WORDS          flags of `ipex-studio run` for the open model, which is optimized with them
//   inputs A | B …       values of --input, with which the open model is optimized
//   load NAME            the decisions of a point of the precision plot
//   library ACTION WHAT  name (a name follows), pin, unpin or forget a job or model, as `ipex-studio db` names them
//   compare RUN RUN …    recorded runs side by side
//
// Models are optimized as they are opened, as long as the script does not ask for file.measure-at-once.
// Empty lines and lines that begin with # are skipped. Durations are seconds.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "studio/snapshot/snapshot.h"
#include "studio/ui/selection.h"
#include "studio/window/frame_watchdog.h"

namespace ipex_studio {

// Commands of the steps that ask the session for work. `line`: number for messages. Throw Error(kUsage).
Command trustStep(const std::string& rest, int line);
Command exportStep(const std::string& rest, int line);
Command tuneStep(const std::string& rest, int line);
Command curvesStep(const std::string& rest, int line);
Command inputsStep(const std::string& rest, const StudioSnapshot& snapshot);
Command libraryStep(const std::string& rest, int line, const StudioSnapshot& snapshot);
Command compareStep(const std::string& rest, int line);
Command loadStep(const std::string& rest, int line, const StudioSnapshot& snapshot);
// The value of a fact about work that `expect` may ask for; nullopt for other keys. `good`: true if it is as `value`
// says.
std::optional<std::string> workFact(const StudioSnapshot& snapshot, const std::string& key, const std::string& value,
                                    bool* good);

class Script {
 public:
  // Reads a script. Throws Error(kUsage) if the file cannot be read, and with the number of a line that is no step.
  static Script read(const std::string& path);
  static Script parse(const std::string& text);

  // The frame that was just drawn.
  struct Frame {
    const StudioSnapshot& snapshot;
    Selection& selection;
    const FrameStatistics& statistics;
    bool settled;  // true: for some frames no work was under way and all layouts were done
    std::function<void(Command)> post;
    std::function<bool(const std::string& keys)> press;  // false: there are no such keys
    std::function<void(const std::string& path)> screenshot;
    std::function<void(const std::string& path)> report;
  };
  // Takes as many steps as this frame allows; false if all are done. Throws Error(kFailure) if an expectation is not
  // met or a wait takes more than ten minutes.
  bool advance(const Frame& frame);

 private:
  struct Step {
    int line = 0;
    std::string verb;
    std::string rest;
  };
  bool run(const Step& step, const Frame& frame);
  bool wait(const Step& step, const Frame& frame);
  void scrub(const Step& step, const Frame& frame) const;
  void select(const Step& step, const Frame& frame) const;
  void expect(const Step& step, const Frame& frame) const;

  std::vector<Step> steps_;
  std::size_t next_ = 0;
  bool fresh_ = true;  // true: the current step has not begun
  std::chrono::steady_clock::time_point since_;
};

}  // namespace ipex_studio
