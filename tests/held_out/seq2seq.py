"""Answers of readers who saw only the statement."""
import torch
from answers import right, wrong


@right("last_states")
def _(outputs, lengths):
    return outputs[torch.arange(len(outputs)), lengths - 1]


@wrong("last_states", "the state after the first padding, off by one")
def _(outputs, lengths):
    return outputs[torch.arange(len(outputs)), lengths]


@wrong("last_states", "the last position, padding or not")
def _(outputs, lengths):
    return outputs[:, -1]


@wrong("last_states", "indexing without rows gives a third axis")
def _(outputs, lengths):
    return outputs[:, lengths - 1]


@right("reverse_padded")
def _(ids):
    out = torch.zeros_like(ids)
    for row, sentence in zip(out, ids):
        words = sentence[sentence != 0]
        row[: len(words)] = words.flip(0)
    return out


@wrong("reverse_padded", "flips the batch, not the words")
def _(ids):
    return ids.flip(0)


@wrong("reverse_padded", "rolls every row by the padding of the first")
def _(ids):
    back = ids.flip(1)
    pads = (ids[0] == 0).sum().item()
    return back.roll(-pads, dims=1)


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


@wrong("greedy_decode", "counts bos, one token too few")
def _(next_logits, bos, eos, limit):
    tokens = [bos]
    while len(tokens) < limit:
        token = next_logits(tokens).argmax().item()
        if token == eos:
            break
        tokens.append(token)
    return tokens[1:]


@wrong("greedy_decode", "gives the model only the last token")
def _(next_logits, bos, eos, limit):
    token, out = bos, []
    for _ in range(limit):
        token = next_logits([token]).argmax().item()
        if token == eos:
            return out
        out.append(token)
    return out


@wrong("greedy_decode", "always cuts off the last token as if it were eos")
def _(next_logits, bos, eos, limit):
    tokens = [bos]
    for _ in range(limit):
        tokens.append(next_logits(tokens).argmax().item())
        if tokens[-1] == eos:
            break
    return tokens[1:-1]


@right("exact_accuracy_by_length")
def _(translations, references, edges):
    shares = []
    for low, high in zip(edges, edges[1:]):
        hits = [t == r for t, r in zip(translations, references) if low <= len(r) < high]
        shares.append(sum(hits) / len(hits))
    return shares


@wrong("exact_accuracy_by_length", "sorted by the length of the translation")
def _(translations, references, edges):
    out = []
    for a, b in zip(edges[:-1], edges[1:]):
        chosen = [(t, r) for t, r in zip(translations, references) if a <= len(t) < b]
        out.append(sum(t == r for t, r in chosen) / max(len(chosen), 1))
    return out


@wrong("exact_accuracy_by_length", "the upper edge belongs to the bin, too")
def _(translations, references, edges):
    out = []
    for i in range(len(edges) - 1):
        right_ones = total = 0
        for t, r in zip(translations, references):
            if edges[i] <= len(r) <= edges[i + 1]:
                total += 1
                right_ones += t == r
        out.append(right_ones / total)
    return out


@wrong("exact_accuracy_by_length", "share of right tokens rather than of sentences")
def _(translations, references, edges):
    out = []
    for a, b in zip(edges[:-1], edges[1:]):
        chosen = [(t, r) for t, r in zip(translations, references) if a <= len(r) < b]
        good = sum(sum(x == y for x, y in zip(t, r)) for t, r in chosen)
        out.append(good / sum(len(r) for _, r in chosen))
    return out


@right("gru_derivative")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * u_n * (r + h * dr)
    dh = z + (1 - z) * dn + (h - n) * dz
    return dz, dr, dn, dh


@wrong("gru_derivative", "r treated as a constant in n")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * r * u_n
    return dz, dr, dn, z + (1 - z) * dn + (h - n) * dz


@wrong("gru_derivative", "the sign of n in the derivative of (1 - z) n")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * (r * u_n + u_n * h * dr)
    dh = z + (1 - z) * dn + n * dz + h * dz
    return dz, dr, dn, dh


@wrong("gru_derivative", "the boxes alone")
def _(h, z, r, n, u_z, u_r, u_n):
    dr = r * (1 - r) * u_r
    box = u_n * (r + h * dr)
    return u_z, dr, box, (1 - z) * (1 - n**2) * box + (h - n) * z * (1 - z) * u_z


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


@wrong("lstm_encode", "reads the padding as well")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for x_t in x.unbind(1):
        i, f, g, o = (x_t @ W.T + h @ U.T + b).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return h


@wrong("lstm_encode", "the blocks in the order i, f, o, g")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    states = []
    for x_t in x.unbind(1):
        i, f, o, g = (x_t @ W.T + h @ U.T + b).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        states.append(h)
    states = torch.stack(states, 1)
    return states[torch.arange(len(x)), is_word.sum(1) - 1]


@wrong("lstm_encode", "sets the states to zero at the padding")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        i, f, g, o = (x[:, t] @ W.T + h @ U.T + b).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        c = c * is_word[:, t : t + 1]
        h = h * is_word[:, t : t + 1]
    return h
