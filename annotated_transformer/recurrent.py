"""Recurrent cells, and the layer that applies them along a sentence."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.ground.errors import require_choice
from annotated_transformer.ground.inputs import require_sizes


class RNNCell(nn.Module):
    """The simple recurrent cell: h = tanh(W x + b + U h₋₁ + c).

    A cell has two parts, so that the part that does not depend on the state is computed
    for all positions at once: ``read`` is W x + b, and ``forward`` does the rest for one position.

    Source: Elman 1990; the equations are those of ``torch.nn.RNNCell``.
    """

    gates = 1  # vectors computed per step from W x + b: without gates, the new state alone
    states = 1  # vectors in the state

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        require_sizes(input_dim=input_dim, hidden_dim=hidden_dim)
        super().__init__()
        self.hidden_dim = hidden_dim
        self.read = nn.Linear(input_dim, self.gates * hidden_dim)
        self.recur = nn.Linear(hidden_dim, self.gates * hidden_dim)

    def forward(
        self, read: Float[Tensor, "batch gates"], state: Float[Tensor, "batch state"]
    ) -> Float[Tensor, "batch state"]:
        """Compute the next state from the projected input and the previous state."""
        return torch.tanh(read + self.recur(state))

    def hidden(self, state: Float[Tensor, "*batch state"]) -> Float[Tensor, "*batch hidden"]:
        """Return the part of the state that other layers see: h, which comes first."""
        return state[..., : self.hidden_dim]


class GRUCell(RNNCell):
    """The gated recurrent unit: gates decide what to forget and what to update.

    r = σ(W_r x + U_r h₋₁), z = σ(W_z x + U_z h₋₁), n = tanh(W_n x + r ⊙ U_n h₋₁),
    h = (1 − z) ⊙ n + z ⊙ h₋₁; every product has its bias.

    Source: Cho et al. 2014, section 2.3, with the reset gate after the product U_n h₋₁, as in
    ``torch.nn.GRUCell``.
    """

    gates = 3

    def forward(
        self, read: Float[Tensor, "batch gates"], state: Float[Tensor, "batch state"]
    ) -> Float[Tensor, "batch state"]:
        """Compute the next state from the projected input and the previous state."""
        read_r, read_z, read_n = read.chunk(3, dim=-1)
        recur_r, recur_z, recur_n = self.recur(state).chunk(3, dim=-1)
        reset = torch.sigmoid(read_r + recur_r)  # (batch, hidden), as all here
        update = torch.sigmoid(read_z + recur_z)
        new = torch.tanh(read_n + reset * recur_n)
        return (1 - update) * new + update * state


class LSTMCell(RNNCell):
    """Long short-term memory: a cell c beside the hidden state h, updated by addition.

    i, f, o = σ(W x + U h₋₁) and g = tanh(W x + U h₋₁), each with its own weights;
    c = f ⊙ c₋₁ + i ⊙ g, h = o ⊙ tanh(c). The state is h and c side by side.

    Source: Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000; the
    equations are those of ``torch.nn.LSTMCell``.
    """

    gates = 4
    states = 2

    def forward(
        self, read: Float[Tensor, "batch gates"], state: Float[Tensor, "batch state"]
    ) -> Float[Tensor, "batch state"]:
        """Compute the next state from the projected input and the previous state."""
        hidden, cell = state.chunk(2, dim=-1)  # (batch, hidden), as all here
        i, f, g, o = (read + self.recur(hidden)).chunk(4, dim=-1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        return torch.cat([torch.sigmoid(o) * torch.tanh(cell), cell], dim=-1)


CELLS: dict[str, type[RNNCell]] = {"rnn": RNNCell, "gru": GRUCell, "lstm": LSTMCell}


def make_cell(name: str, input_dim: int, hidden_dim: int) -> RNNCell:
    """Make the cell of that name.

    Raises:
        InputError: if the name is not one of ``CELLS``.
    """
    require_choice("cell", name, CELLS)
    return CELLS[name](input_dim, hidden_dim)


class RecurrentLayer(nn.Module):
    """A recurrent cell applied along a sentence, from left to right or from right to left.

    At padding the state is kept. So the last state of a short sentence is the state
    after its last *word*, and padding never changes it.
    """

    def __init__(
        self, cell: str, input_dim: int, hidden_dim: int, *, backward: bool = False
    ) -> None:
        super().__init__()
        self.cell = make_cell(cell, input_dim, hidden_dim)
        self.backward = backward

    def forward(
        self,
        x: Float[Tensor, "batch time input"],
        is_word: Bool[Tensor, "batch time"],
        state: Float[Tensor, "batch state"] | None = None,
    ) -> tuple[Float[Tensor, "batch time hidden"], Float[Tensor, "batch state"]]:
        """Return the hidden state at every position, and the final state.

        The recurrence starts from ``state``, or from zeros.
        """
        read = self.cell.read(x)  # (batch, time, gates · hidden)
        if state is None:
            state = x.new_zeros(x.size(0), self.cell.states * self.cell.hidden_dim)
        outputs = []
        positions = range(x.size(1))
        for t in reversed(positions) if self.backward else positions:
            state = torch.where(is_word[:, t, None], self.cell(read[:, t], state), state)
            outputs.append(self.cell.hidden(state))
        if self.backward:
            outputs.reverse()
        return torch.stack(outputs, dim=1), state
