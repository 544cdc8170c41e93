// Messages about a model that has not run: the arguments of forward, and the graph where it cannot run.
#pragma once

#include "core/model/model.h"
#include "studio/engine/channel.h"
#include "studio/protocol/protocol.h"

namespace ipex_studio {

// Sends names, types and examples of the arguments.
void sendSignature(Model& model, Channel& channel);

// Says what is not as in the file, and keeps it as remarks.
void sendNotes(Model& model, Channel& channel);

// Sends the graph and, of the inputs, what the job gives and what can be guessed; a description that is not known is
// empty. Sends nothing of a model that cannot be frozen. `refused`: true if the inputs keep the model from running.
void sendUnrun(Model& model, const EngineJob& job, bool refused, Channel& channel);

}  // namespace ipex_studio
