// A text that a language model wrote, for people.
#pragma once

#include <string>

#include "core/record/generation_record.h"

namespace ipex_studio {

// The new tokens, "464 3290 318".
std::string generatedIds(const GenerationRecord& record);

// What else is known, as lines: how it was written, how fast by each form, whether the original agrees.
std::string generationText(const GenerationRecord& record);

}  // namespace ipex_studio
