import torch

from annotated_transformer.tokens import BOS, EOS
from answers import wrong


@wrong("reverse_padded", "gather with a negative place at the padding")
def _(ids):
    lengths = (ids != 0).sum(1, keepdim=True)
    place = lengths - 1 - torch.arange(ids.size(1))
    return ids.gather(1, place)


wrong("remembering_bias", "rounds 3.35 to the nearest number")(3)
wrong("remembering_bias", "solves for one word only: above 0")(1)
wrong("remembering_bias", "one more, to be safe")(5)


@wrong("number_writer", "every word is a tensor with two axes")
@torch.no_grad()
def _(model, source, limit=40):
    said, word = [], BOS
    state = model.read(source)
    for _ in range(limit):
        logits, state = model.write(state, source.new_tensor([[word]]))
        word = logits.argmax(-1)
        if word == EOS:
            break
        said.append(word)
    return said
