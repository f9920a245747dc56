from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.notebook.proofs import agree, holds, proof
from transformer_workbook.places import course_file


@proof
def corpus_bleu(score: float, hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """A BLEU is that of sacreBLEU."""
    from sacrebleu.metrics.bleu import BLEU

    theirs = BLEU().corpus_score(hypotheses, [references]).score
    names = "sacreBLEU's score of these captions", "yours"
    agree(1e-9, dict(zip(names, torch.tensor([theirs, score]), strict=True)))


@proof
def model_or_search(
    log_prob: Callable[[str, str], float], right: dict[str, str], wrong: Sequence[str]
) -> None:
    """The search has missed the barber; of the others, nothing right comes near what is wrong."""
    more = [  # right translations: of the collar, the cat and the barber
        ["The dog is not wearing a collar."],
        ["A cat is chasing a dog.", "A dog is being chased by a cat."],
        [],
    ]
    leads = []
    for (german, english), bad, others in zip(right.items(), wrong, more, strict=True):
        most = max(log_prob(german, good) for good in (english, *others))
        leads.append(most - log_prob(german, bad))
    *of_the_model, of_the_search = leads
    claim = "with the barber, the log p of the right sentence is over 2 nats above greedy search's"
    holds(claim, of_the_search > 2)
    claim = "with the collar and the cat, all right ones that we tried are over 2 nats below it"
    holds(claim, max(of_the_model) < -2)


@proof
def endings_change_nothing(usual: Sequence[str], turned: Sequence[str]) -> None:
    """Who chases whom is the same with the endings exchanged."""
    claim = "exchanging the endings changes none of the twenty translations"
    holds(claim, usual == turned and len(usual) == 20)


@proof
def a_head_sees_the_ending(
    cross: Sequence[Float[Tensor, "heads query key"]], target: Sequence[str], source: Sequence[str]
) -> None:
    """Of all heads, one of the first layer gives the ending most, when the model predicts "dog"."""
    from myst_nb import glue

    weights = torch.stack(list(cross))  # (layers, heads, query, key)
    shares = weights[:, :, target.index("▁dog"), source.index("en")]
    layer, head = divmod(int(shares.argmax()), shares.size(1))
    claim = f"of {shares.numel()} heads, one of layer 1 attends to the ending most, with over 70 %"
    holds(claim, layer == 0 and shares.max() > 0.7)
    glue("ending-head", f"head {head + 1} of layer {layer + 1}", display=False)
    glue("ending-share", f"{shares.max():.0%}", display=False)


def numbers() -> None:
    """Glue in how many passive sentences the checkpoint gets the roles right, from the record."""
    import pandas as pd
    from myst_nb import glue

    rows = pd.read_csv(course_file("records/who_acts.csv")).query("construction == 'passive'")
    glue("passives", f"{rows.second.sum()}", display=False)
