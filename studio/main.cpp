// ipex-studio: the window and the command line.
#include "studio/cli/commands.h"
#include "studio/window/window.h"

int main(int argc, char** argv) { return ipex_studio::runCommandLine(argc, argv, ipex_studio::runWindow); }
