import torch
from torch.nn import functional as F

from answers import wrong


@wrong("loss_of_every_word", "the mean of each line's mean")
def _(model, ids):
    lines = zip(model(ids[:, :-1]), ids[:, 1:], strict=True)
    return torch.stack([F.cross_entropy(*line, ignore_index=0) for line in lines]).mean()


@wrong("sampled_text", "every word continues the prompt, not what is written")
def _(model, ids, temperature):
    text = ids
    while text.size(1) < model.longest:
        p = (model(ids)[:, -1] / temperature).softmax(-1)
        text = torch.cat([text, torch.multinomial(p, 1)], 1)
    return text


@wrong("token_positions", "one shift for the whole batch")
def _(ids):
    shift = (ids == 0).sum(1).max()
    return (torch.arange(ids.size(1)) - shift).clamp(min=0).expand(ids.shape)


@wrong("text_and_targets", "BOS begins the whole text as well")
def _(src, tgt):
    return [1, *src, 2, 1, *tgt], [0] * (len(src) + 2) + [*tgt, 2]
