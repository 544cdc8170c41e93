"""Scripted networks that cannot become one static region: state, branches and loops that depend on the data."""

from typing import List

import torch
from torch import nn

from .registry import Input, Network, Value, register


class StatefulLstm(nn.Module):
    """A small voice detector: one chunk of sound per call, and a state that survives the call."""

    def __init__(self, width: int = 32):
        super().__init__()
        self.encoder16 = nn.Conv1d(1, width, 16, stride=8)
        self.encoder8 = nn.Conv1d(1, width, 8, stride=4)
        self.rnn = nn.LSTM(width, width)
        self.decoder = nn.Linear(width, 1)
        # Large weights and open forget gates make a lost or doubled state show in the results.
        for name, parameter in self.rnn.named_parameters():
            nn.init.normal_(parameter, 0.0, 0.3)
            if name.startswith("bias"):
                parameter.data[width:2 * width] = 2.0
        nn.init.normal_(self.decoder.weight, 0.0, 0.5)
        self.register_buffer("hidden", torch.zeros(1, 1, width))
        self.register_buffer("cell", torch.zeros(1, 1, width))
        self.register_buffer("context", torch.zeros(1, 16))

    @torch.jit.export
    def reset_states(self) -> None:
        self.hidden = torch.zeros_like(self.hidden)
        self.cell = torch.zeros_like(self.cell)
        self.context = torch.zeros_like(self.context)

    def forward(self, sound: torch.Tensor, rate: int) -> torch.Tensor:
        if sound.dim() != 2:
            raise ValueError("sound must be (batch, samples)")
        x = torch.cat([self.context, sound], dim=1)
        self.context = sound[:, -16:]
        if rate == 16000:
            y = torch.relu(self.encoder16(x.unsqueeze(1)))
        else:
            y = torch.relu(self.encoder8(x.unsqueeze(1)))
        y, state = self.rnn(y.permute(2, 0, 1), (self.hidden, self.cell))
        self.hidden = state[0]
        self.cell = state[1]
        return torch.sigmoid(self.decoder(torch.relu(y[-1])))


class Dynamic(nn.Module):
    """Branches on values, a loop whose count is an argument, a loop that ends by the data, a shape from the data."""

    def __init__(self, width: int = 16):
        super().__init__()
        self.positive = nn.Linear(width, width)
        self.negative = nn.Sequential(nn.Linear(width, width), nn.GELU())
        self.step = nn.Linear(width, width)
        self.head = nn.Linear(width, 4)

    def forward(self, x: torch.Tensor, steps: int):
        if bool(x.mean() > 0):
            y = torch.relu(self.positive(x))
        else:
            y = self.negative(x)
        states: List[torch.Tensor] = []
        for _ in range(steps):
            y = torch.tanh(self.step(y)) + x
            states.append(y)
        y = torch.stack(states).mean(0)
        rounds = 0
        while bool(y.abs().max() > 1.0) and rounds < 8:
            y = y * 0.5
            rounds += 1
        kept = y[y[:, 0] > -10.0]
        return self.head(kept), rounds


register(Network("tiny_lstm_stateful", "Scripted LSTM with state, a branch on the sampling rate and reset_states",
                 StatefulLstm, (Input("sound", (1, 256)), Value("rate", 16000)), scripted=True, reset="reset_states"))
register(Network("tiny_dynamic", "Scripted branches, loops and shapes that depend on the data",
                 Dynamic, (Input("x", (4, 16)), Value("steps", 3)), scripted=True))
