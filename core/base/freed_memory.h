// Memory that was freed, and that the process still holds.
#pragma once

namespace ipex_studio {

// Gives the heap's free pages back to the system: for the ends of phases that allocate much more than what they leave, such
// as passes over a graph or candidates that were timed. Some milliseconds. Thread-safe.
void returnFreedMemory();

}  // namespace ipex_studio
