// What a file says of the Python that its code was made of.
#pragma once

namespace ipex_studio {

// True if all of it has the form that libtorch writes, so that libtorch can look a line up: it trusts sizes and indices
// of these pickles. `fd`: the model's file.
bool debugInfoIsSound(int fd);

}  // namespace ipex_studio
