"""The records of a model that follows requests and goes on learning from rewards."""

import random
from functools import cache, partial

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.batches import pad
from annotated_transformer.language_model import LanguageModel
from annotated_transformer.tokens import EOS, PAD
from records import following
from records.fitting import fit
from records.tables import Row, Tables
from records.trials import tune
from transformer_workbook.notebook.following import Following, continued

STEPS, REQUESTS, GROUP, LEASH, START_RATE = 150, 4, 8, 0.04, 1e-3
RATES, MODELS = (5e-4, 1e-3, 2e-3), ("examples", "same", "new", "share")
one_drawn = partial(torch.multinomial, num_samples=1)


@cache
def started(seed: int) -> dict[str, Tensor]:
    """Fine-tune a pretrained model with 200 examples."""
    task = Following.make()
    model = task.build(seed)
    model.load_state_dict(following.pretrained(seed))
    following.train(model, task.mixture(200, seed), following.STEPS, START_RATE, seed)
    return {name: weight.clone() for name, weight in model.state_dict().items()}


def start_of(seed: int) -> LanguageModel:
    """Build the model of 200 examples, from which all go on."""
    (model := Following.make().build(seed)).load_state_dict(started(seed))
    return model


def reward_of(model: str, written: list[int], right: list[int]) -> float:
    """Reward the right answer with its end, or (share) the share of its words that occur."""
    if model == "share":
        return len({*right} & {*written}) / len({*right})
    return float(written == [*right, EOS])


def log_probabilities(
    model: LanguageModel, prompts: list[list[int]], rows: list[list[int]]
) -> Tensor:
    """Compute the log-probability of each token of the answers, (batch, time); 0 elsewhere."""
    pairs = list(zip(prompts, rows, strict=True))
    labels = pad([[PAD] * (len(prompt) - 1) + row for prompt, row in pairs])
    logits = model(pad([(prompt + row)[:-1] for prompt, row in pairs]))
    return -F.cross_entropy(logits.mT, labels, ignore_index=PAD, reduction="none")


def train_rewards(model: str, rate: float, seed: int) -> Row:
    """Go on with more steps on the examples, or with rewards for sampled translations."""
    torch.set_num_threads(1)
    task = Following.make()
    built, start = start_of(seed), start_of(seed)
    torch.manual_seed(seed)
    draw = random.Random(seed)
    train = task.pairs["train"]
    known = random.Random(seed).sample(train, 200)[::4]  # whose translations were examples
    asked = known if model == "same" else train

    def loss_at(_: int) -> Tensor:
        pairs = [pair for pair in draw.sample(asked, REQUESTS) for _ in range(GROUP)]
        prompts = [task.prompt("translate", pair) for pair in pairs]
        rows = continued(built, prompts, one_drawn)
        got = [reward_of(model, row, task.ids(p.tgt)) for row, p in zip(rows, pairs, strict=True)]
        rewards = torch.tensor(got).view(REQUESTS, GROUP)
        spread = rewards.std(dim=1, keepdim=True) + 1e-4
        advantages = ((rewards - rewards.mean(dim=1, keepdim=True)) / spread).view(-1, 1)
        now = log_probabilities(built, prompts, rows)
        with torch.no_grad():
            x = log_probabilities(start, prompts, rows)
        x = x - now
        leash = x.exp() - x - 1
        return (LEASH * leash - advantages * now).sum(dim=1).mean()

    if model == "examples":
        following.train(built, task.mixture(200, seed), STEPS, rate, seed)
    else:
        fit(built, rate, STEPS, following.WARMUP, loss_at)

    row = {"model": model, "rate": rate, "seed": seed, **following.measure(built)}
    row |= {f"{name}_before": value for name, value in following.measure(start).items()}
    torch.manual_seed(round(rate * 1e7))  # a trial draws by itself: equal models seldom tie
    row["lack"] = round(1 - mean_reward(built, model, "val"), 4)
    for name, one in [("share", built), ("share_before", start)]:
        row[name] = round(mean_reward(one, "share", "test"), 4)
    return row


def mean_reward(model: LanguageModel, reward: str, split: str) -> float:
    """Estimate the mean reward of sampled translations."""
    task = Following.make()
    pairs = task.pairs[split][: following.TESTS] * GROUP
    prompts = [task.prompt("translate", pair) for pair in pairs]
    rows = continued(model, prompts, one_drawn)
    both = zip(rows, pairs, strict=True)
    return sum(reward_of(reward, row, task.ids(pair.tgt)) for row, pair in both) / len(pairs)


def make_rewards(tables: Tables) -> None:
    """Translations after 200 examples, then more steps on them or rewards.

    What would refute "rewards teach what more of the same examples do not": as many steps of
    supervised fine-tuning on the examples, by another method, at the rate that suits them best,
    or rewards for the requests of the examples alone.
    """
    tune(tables, "rewards", train_rewards, MODELS, RATES, "lack")
