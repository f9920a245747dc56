"""The record of lesson 19's head, trained as on its page: it says the letter before, in any text.

Before the runs: a repair counts if 90 of 100 letters are right at 128 in 19 of 20 runs, a rival of
the repair or of the explanation if it reaches 90 on average.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.rotary import interpolated, ntk_aware, rotary_frequencies
from records.fitting import fit_one_cycle
from records.lengths import slow_divided, turns
from records.tables import Row, Tables, with_seeds

LETTERS, WIDTH, LONG = 27, 64, 128
BASES = {"base 500": 500.0, "base 1,000,000": 1e6}
MODELS = (
    ["rotary", "twice the steps", "trained on 128", "not rotated", *BASES, "rotary, three back"]
    + [f"ALiBi, slope {slope}" for slope in ("1/256", "1/16", "1/4", "1")]
    + ["ALiBi, slope 1, three back"]
)


class Head(nn.Module):
    """Letters, one causal head, logits; a score depends on the offset of query and key."""

    def __init__(self, model: str) -> None:
        super().__init__()
        base = BASES.get(model, 10_000.0)
        self.frequencies = rotary_frequencies(WIDTH, base).float() * (model in TURNING)
        _, _, slope = model.removesuffix(", three back").partition("slope ")
        numbers = [float(part) for part in slope.split("/") if part]
        self.slope = numbers[0] / numbers[-1] if numbers else 0.0
        self.symbols = nn.Embedding(LETTERS, WIDTH)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.output = nn.Linear(WIDTH, LETTERS)
        self.most = torch.full((WIDTH // 2,), LONG)  # the largest offset that a pair turns by
        self.window = LONG

    def forward(self, tokens: Tensor) -> Tensor:
        """(batch, time) to logits (batch, time, letter)."""
        x, at = self.symbols(tokens), torch.arange(tokens.size(1))
        offset = at[:, None] - at  # (query, key)
        q, k = (torch.view_as_complex(f(x).unflatten(-1, (-1, 2))) for f in (self.query, self.key))
        if (self.most >= LONG).all():
            turn = torch.polar(torch.ones(len(at), WIDTH // 2), at[:, None] * self.frequencies)
            scores = ((q * turn) @ (k * turn).conj().mT).real
        else:
            angles = offset[..., None].clamp(min=0).minimum(self.most) * self.frequencies
            turn = torch.polar(torch.ones_like(angles), angles)
            scores = torch.einsum("bqi,bki,qki->bqk", q, k.conj(), turn).real
        scores = scores / WIDTH**0.5 - self.slope * offset
        scores = scores.masked_fill((offset < 0) | (offset >= self.window), -torch.inf)
        logits: Tensor = self.output(scores.softmax(-1) @ self.value(x))
        return logits


TURNING = {name for name in MODELS if not name.startswith(("ALiBi", "not"))}


def trained(model: str) -> Head:
    """Train a head on random letters."""
    head, length = Head(model), 128 if model == "trained on 128" else 16
    steps, back = 800 if model == "twice the steps" else 400, 3 if "three" in model else 1

    def loss_at(_: int) -> Tensor:
        tokens = torch.randint(LETTERS, (64, length))
        return F.cross_entropy(head(tokens)[:, back:].mT, tokens[:, :-back])

    fit_one_cycle(head, 0.01, steps, loss_at)
    return head


@torch.no_grad()
def right(head: Head, length: int, back: int = 1, texts: int = 200) -> float:
    """The share of right letters in the second half of new texts of a length."""
    tokens = torch.randint(LETTERS, (texts, length))
    hits = head(tokens).argmax(-1)[:, length // 2 :] == tokens[:, length // 2 - back : -back]
    return round(hits.double().mean().item(), 4)


@torch.no_grad()
def swapped(head: Head) -> float:
    """The share of right answers at the end of texts and of their twins, two letters swapped."""
    tokens = torch.randint(LETTERS, (500, 16))
    tokens = tokens[tokens[:, -3] != tokens[:, -2]]
    twins = tokens.clone()
    twins[:, [-3, -2]] = tokens[:, [-2, -3]]
    both = torch.cat([tokens, twins])
    return round((head(both)[:, -1].argmax(-1) == both[:, -2]).double().mean().item(), 4)


def train_letters(model: str, seed: int) -> Row:
    """Train one head; its shares by length, and at 128 with other frequencies and other offsets."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(seed)
    head, back = trained(model), 3 if "three" in model else 1
    row: Row = {"model": model, "seed": seed}
    row |= {f"right_{n}": right(head, n, back) for n in (16, 32, 64, LONG)}
    plain = head.frequencies
    turned = turns(plain, 16)
    low, share, wide = turned < 1, (turned - 1).clamp(0, 1), ((turned - 1) / 3).clamp(0, 1)
    ways = {
        "low": slow_divided(plain, 8, 16),
        "all": interpolated(plain, 8),
        "high": plain.where(low, plain / 8),
        "ntk": ntk_aware(WIDTH, 10_000.0, 8.0).float(),
        "bands": plain * (share + (1 - share) / 8),
        "bands_to_4": plain * (wide + (1 - wide) / 8),
        "low_by_2": slow_divided(plain, 2, 16),
        "low_by_32": slow_divided(plain, 32, 16),
        "low_off": plain * ~low,
    }
    row |= dict.fromkeys([*ways, "short", "low_kept", "high_kept", "all_kept", "window"], "")
    row["swapped"] = swapped(head) if back == 1 else ""
    if model != "rotary":
        return row
    for name, frequencies in ways.items():
        head.frequencies = frequencies
        row[name] = right(head, LONG)
    head.frequencies = ways["low"]
    row["short"] = right(head, 16)
    head.frequencies = plain
    for name, kept in {"low_kept": low, "high_kept": ~low, "all_kept": low | ~low}.items():
        head.most = torch.where(kept, 15, LONG)
        row[name] = right(head, LONG, texts=25)
    head.most, head.window = torch.full_like(head.most, LONG), 16
    row["window"] = right(head, LONG)
    return row


def make_letters(tables: Tables) -> None:
    """One head that says the letter before, trained on 16 letters and asked about up to 128.

    It is the refuter of lesson 19: offsets that are clamped, so that no new angle occurs, a window,
    other divisors, longer training, other bases, and slopes of ALiBi.
    """
    seeds = dict.fromkeys(MODELS, 5) | {"rotary": 20}
    tables.extend("letters", train_letters, with_seeds(seeds), ["model", "seed"])
