"""Where work runs: `cpu.runtime` in this process, `cpu.launch` for processes that it starts."""
