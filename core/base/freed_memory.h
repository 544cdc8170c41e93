// Returns memory that was freed, but that the process still holds, to the system.
#pragma once

namespace ipex_studio {

// Gives the heap's free pages back to the system. Meant for the ends of phases that allocate much more than they leave
// behind, such as passes over a graph or timed candidates. Takes some milliseconds. Thread-safe.
void returnFreedMemory();

}  // namespace ipex_studio
