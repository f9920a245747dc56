"""Answers of readers who saw only the statement."""
import torch
from answers import right, wrong


@right("last_states")
def _(outputs, lengths):
    return outputs[torch.arange(len(outputs)), lengths - 1]








@right("reverse_padded")
def _(ids):
    out = torch.zeros_like(ids)
    for row, sentence in zip(out, ids):
        words = sentence[sentence != 0]
        row[: len(words)] = words.flip(0)
    return out






@wrong("reverse_padded", "gather with a negative place at the padding")
def _(ids):
    lengths = (ids != 0).sum(1, keepdim=True)
    place = lengths - 1 - torch.arange(ids.size(1))
    return ids.gather(1, place)


@right("greedy_decode")
def _(next_logits, bos, eos, limit):
    tokens = [bos]
    while len(tokens) - 1 < limit:
        token = int(next_logits(tokens).argmax())
        if token == eos:
            break
        tokens.append(token)
    return tokens[1:]








@right("exact_accuracy_by_length")
def _(translations, references, edges):
    shares = []
    for low, high in zip(edges, edges[1:]):
        hits = [t == r for t, r in zip(translations, references) if low <= len(r) < high]
        shares.append(sum(hits) / len(hits))
    return shares








@right("gru_derivative")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * u_n * (r + h * dr)
    dh = z + (1 - z) * dn + (h - n) * dz
    return dz, dr, dn, dh








right("remembering_bias")(4)
wrong("remembering_bias", "rounds 3.35 to the nearest number")(3)
wrong("remembering_bias", "solves for one word only: above 0")(1)
wrong("remembering_bias", "one more, to be safe")(5)


@right("lstm_encode")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        i, f, g, o = (x[:, t] @ W.T + h @ U.T + b).chunk(4, dim=-1)
        new_c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        new_h = o.sigmoid() * new_c.tanh()
        keep = is_word[:, t, None]
        c = torch.where(keep, new_c, c)
        h = torch.where(keep, new_h, h)
    return h






