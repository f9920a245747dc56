from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.tokens import EOS
from transformer_workbook.notebook.proofs import agree, proof


@proof
def loss_on_answers(
    loss: Float[Tensor, ""], model: Any, dialogues: Sequence[tuple[list[int], list[int]]]
) -> None:
    """The mean of −ln p over the tokens of all answers, EOS included, one by one, is the loss."""
    terms = []
    for prompt, answer in dialogues:
        read = list(prompt)
        for token in [*answer, EOS]:
            logits = model(torch.tensor([read]))[0, -1]
            terms.append(logits.logsumexp(dim=0) - logits[token])
            read.append(token)
    one_by_one = torch.stack(terms).mean()
    agree(1e-12, {"your loss": loss, f"the mean over {len(terms)} tokens of answers": one_by_one})
