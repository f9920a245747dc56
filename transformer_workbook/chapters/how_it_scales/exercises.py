import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_workbook.judge import derivation, exercise, number


def _losses(tokens: list[float], least: float, factor: float, power: float) -> Tensor:
    return least + factor * torch.tensor(tokens, dtype=torch.float64) ** -power


def _networks() -> list[tuple[nn.Module, float]]:
    with torch.random.fork_rng():  # the numbers that a reader draws stay the same
        first, second = (
            nn.Sequential(
                nn.Embedding(5, 3),
                nn.Flatten(),
                nn.Linear(6, width),
                nn.ReLU(),
                nn.Linear(width, 5),
            )
            for width in (4, 9)
        )
        return [(first, 1e6), (second, 5e5), (nn.Linear(3, 7), 12_345.0)]


@exercise(_networks(), gap=True)
def size_and_tokens(model: nn.Module, C: float) -> tuple[int, int]:
    """Write how many parameters a model has, and how many tokens it reads for C FLOPs."""
    N = sum(weight.numel() for weight in model.parameters())
    D = int(C / (6 * N))
    return N, D


@exercise(
    [
        (torch.tensor([1.0, 10.0, 100.0]).double(), torch.tensor([2.0, 1.6, 1.25]).double()),
        (torch.tensor([3e8, 1e9, 3e9]), torch.tensor([2.31, 2.02, 1.83])),
        (torch.tensor([2e3, 5e3, 9e3, 4e4]), torch.tensor([30.0, 41.0, 60.0, 118.0])),
    ],
    gap=True,
)
def power_law(
    C: Float[Tensor, " runs"], y: Float[Tensor, " runs"]
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Write the factor and the exponent of y = a C^b, by the line through the logarithms."""
    u, v = C.log(), y.log()
    du, dv = u - u.mean(), v - v.mean()
    b = (du * dv).sum() / (du * du).sum()
    a = (v.mean() - b * u.mean()).exp()
    return a, b


@exercise(
    [
        (100.0, 4.0, 0.5, 9.0, 0.25),
        (3e15, 80.0, 0.3, 500.0, 0.4),
        (9e20, 482.01, 0.3478, 2085.43, 0.3658),
    ]
)
def compute_optimal(C: float, A: float, alpha: float, B: float, beta: float) -> tuple[float, float]:
    """Find the parameters and the tokens that make A/N^alpha + B/D^beta least, with 6 N D = C."""
    ratio = alpha * A / (beta * B)
    N = (ratio * (C / 6) ** beta) ** (1 / (alpha + beta))
    return float(N), float(C / 6 / N)


@exercise(
    [
        (torch.tensor([1e5, 1e6, 1e7]).double(), _losses([1e5, 1e6, 1e7], 1.5, 40.0, 0.3), 1.5),
        (torch.tensor([2e4, 3e5]), _losses([2e4, 3e5], 0.8, 9.0, 0.2).float(), 0.8),
        (torch.tensor([1e3, 4e3, 9e3]).double(), torch.tensor([3.0, 2.2, 2.1]).double(), 1.9),
    ]
)
def exponent(
    D: Float[Tensor, " runs"], loss: Float[Tensor, " runs"], E: float
) -> Float[Tensor, ""]:
    """Find β in the loss E + B/D^β, by the line of least squares through the logarithms."""
    x, y = D.log(), (loss - E).log()
    x, y = x - x.mean(), y - y.mean()
    return -(x * y).sum() / (x * x).sum()


@number(within=0.01)
def tokens_for_a_parameter() -> float:
    """By the second fit of the Chinchilla runs, how many tokens a parameter are best?"""
    N, D = compute_optimal.reference(5.76e23, 482.01, 0.3478, 2085.43, 0.3658)
    return D / N


@derivation([(1e9, 2e10, 100.0, 0.5, 1e15), (7e10, 1.4e12, 10.0, 0.35, 4e14),
             (30.0, 70.0, 1000.0, 0.25, 9000.0)])  # fmt: skip
def a_larger_budget(
    N: float, D: float, times: float, alpha: float, speed: float
) -> tuple[float, ...]:
    """What a run costs, how long it takes, and what a larger budget changes."""
    flops = 6 * N * D
    hours = flops / speed / 3600
    grows = times**0.5
    falls = grows**-alpha
    return flops, hours, grows, falls
