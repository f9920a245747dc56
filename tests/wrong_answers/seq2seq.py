"""Answers of readers who saw only the statement."""
import math

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from annotated_transformer.tokens import BOS, EOS
from answers import right, wrong

# ---------------------------------------------------------------- 1 last_states


@right("last_states")
def _(outputs, lengths):
    return outputs[torch.arange(len(outputs)), lengths - 1]


@right("last_states")
def _(outputs, lengths):
    return torch.stack([o[int(n) - 1] for o, n in zip(outputs, lengths)])


@right("last_states")
def _(outputs, lengths):
    index = (lengths - 1).view(-1, 1, 1).expand(-1, 1, outputs.size(2))
    return outputs.gather(1, index).squeeze(1)


@wrong("last_states", "last position, padding or not")
def _(outputs, lengths):
    return outputs[:, -1]


@wrong("last_states", "length as an index, one too far")
def _(outputs, lengths):
    return outputs[torch.arange(len(outputs)), lengths]


@wrong("last_states", "one too far, but kept inside the tensor")
def _(outputs, lengths):
    last = lengths.clamp(max=outputs.size(1) - 1)
    return outputs[torch.arange(outputs.size(0)), last]


@wrong("last_states", "colon pairs every sentence with every length")
def _(outputs, lengths):
    return outputs[:, lengths - 1]


@wrong("last_states", "batch and time swapped")
def _(outputs, lengths):
    return outputs[lengths - 1, torch.arange(len(lengths))]


@wrong("last_states", "thinks that the last one is an EOS and steps back once more")
def _(outputs, lengths):
    return outputs[torch.arange(len(outputs)), lengths - 2]


@wrong("last_states", "mean over the words")
def _(outputs, lengths):
    mask = torch.arange(outputs.size(1)) < lengths[:, None]
    return (outputs * mask.unsqueeze(-1)).sum(1) / lengths.unsqueeze(-1)


@wrong("last_states", "the longest sentence's end for all")
def _(outputs, lengths):
    return outputs[:, lengths.max() - 1, :]


@wrong("last_states", "gather without expand takes only the first entry")
def _(outputs, lengths):
    return outputs.gather(1, (lengths - 1)[:, None, None]).squeeze(1)


@wrong("last_states", "keeps the axis of time")
def _(outputs, lengths):
    index = (lengths - 1)[:, None, None].expand(-1, 1, outputs.size(-1))
    return torch.gather(outputs, 1, index)


# ---------------------------------------------------------------- 2 reverse_padded


@right("reverse_padded")
def _(ids):
    result = torch.zeros_like(ids)
    for row, (out, n) in enumerate(zip(result, (ids != 0).sum(1).tolist())):
        out[:n] = ids[row, :n].flip(0)
    return result


@right("reverse_padded")
def _(ids):
    lengths = (ids != 0).sum(1, keepdim=True)
    index = lengths - 1 - torch.arange(ids.size(1))
    return ids.gather(1, index.clamp(min=0)).masked_fill(index < 0, 0)


@right("reverse_padded")
def _(ids):
    width = ids.size(1)
    rows = [[i for i in row if i != 0][::-1] for row in ids.tolist()]
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


@right("reverse_padded")
def _(ids):
    flipped = ids.flip(1)
    order = (flipped == 0).int().argsort(dim=1, stable=True)
    return flipped.gather(1, order)


@wrong("reverse_padded", "reverses the order of the sentences")
def _(ids):
    return ids.flip(0)


@wrong("reverse_padded", "index one too large, a PAD in front")
def _(ids):
    lengths = (ids != 0).sum(1, keepdim=True)
    index = (lengths - torch.arange(ids.size(1))).clamp(0, ids.size(1) - 1)
    return ids.gather(1, index).masked_fill(ids == 0, 0)


@wrong("reverse_padded", "padding is filled with the first word")
def _(ids):
    lengths = (ids != 0).sum(1, keepdim=True)
    index = (lengths - 1 - torch.arange(ids.size(1))).clamp(min=0)
    return ids.gather(1, index)


@wrong("reverse_padded", "one length, the first sentence's, for all")
def _(ids):
    n = int((ids[0] != 0).sum())
    return torch.cat([ids[:, :n].flip(1), ids[:, n:]], dim=1)


@wrong("reverse_padded", "keeps the last word at the end as if it were EOS")
def _(ids):
    result = ids.clone()
    for i, n in enumerate((ids != 0).sum(1).tolist()):
        result[i, : n - 1] = ids[i, : n - 1].flip(0)
    return result


@wrong("reverse_padded", "keeps the first word as if it were BOS")
def _(ids):
    result = ids.clone()
    for i, n in enumerate((ids != 0).sum(1).tolist()):
        result[i, 1:n] = ids[i, 1:n].flip(0)
    return result


@wrong("reverse_padded", "negative step, which tensors do not have")
def _(ids):
    result = ids.clone()
    for i in range(len(ids)):
        n = int((ids[i] != 0).sum())
        result[i, :n] = ids[i, :n][::-1]
    return result


@wrong("reverse_padded", "sorts instead of reversing")
def _(ids):
    return ids.sort(dim=1, descending=True).values


@wrong("reverse_padded", "padding in front, words in the old order")
def _(ids):
    flipped = ids.flip(1)
    order = (flipped == 0).int().argsort(dim=1, stable=True)
    return flipped.gather(1, order.flip(1))


@wrong("reverse_padded", "swaps in place and undoes it in the second half")
def _(ids):
    result = ids.clone()
    for row in result:
        n = int((row != 0).sum())
        for i in range(n):
            a, b = row[i].item(), row[n - 1 - i].item()
            row[i], row[n - 1 - i] = b, a
    return result


@wrong("reverse_padded", "rolls every sentence by the batch's longest padding")
def _(ids):
    padding = int((ids == 0).sum(1).max())
    return ids.flip(1).roll(-padding, dims=1)


# ---------------------------------------------------------------- 3 greedy_decode


@right("greedy_decode")
def _(next_logits, bos, eos, limit):
    tokens = [bos]
    while len(tokens) - 1 < limit:
        token = next_logits(tokens).argmax().item()
        if token == eos:
            break
        tokens.append(token)
    return tokens[1:]


@right("greedy_decode")
def _(next_logits, bos, eos, limit):
    out = []
    for _step in range(limit):
        logits = next_logits([bos] + out)
        best = max(range(len(logits)), key=lambda i: logits[i])
        if best == eos:
            return out
        out.append(best)
    return out


@right("greedy_decode")
def _(next_logits, bos, eos, limit):
    def go(sofar):
        if len(sofar) > limit:
            return sofar[1:]
        token = int(next_logits(sofar).softmax(-1).topk(1).indices)
        return sofar[1:] if token == eos else go([*sofar, token])

    return go([bos])


@wrong("greedy_decode", "bos is still there")
def _(next_logits, bos, eos, limit):
    tokens = [bos]
    for _step in range(limit):
        token = next_logits(tokens).argmax().item()
        if token == eos:
            break
        tokens.append(token)
    return tokens


@wrong("greedy_decode", "eos is still there")
def _(next_logits, bos, eos, limit):
    tokens = [bos]
    for _step in range(limit):
        tokens.append(next_logits(tokens).argmax().item())
        if tokens[-1] == eos:
            break
    return tokens[1:]


@wrong("greedy_decode", "bos counts towards the limit")
def _(next_logits, bos, eos, limit):
    tokens = [bos]
    while len(tokens) < limit:
        token = next_logits(tokens).argmax().item()
        if token == eos:
            break
        tokens.append(token)
    return tokens[1:]


@wrong("greedy_decode", "one token too many")
def _(next_logits, bos, eos, limit):
    tokens = [bos]
    while len(tokens) <= limit + 1:
        token = next_logits(tokens).argmax().item()
        if token == eos:
            break
        tokens.append(token)
    return tokens[1:]


@wrong("greedy_decode", "gives only the last token to the function")
def _(next_logits, bos, eos, limit):
    token, out = bos, []
    for _step in range(limit):
        token = next_logits([token]).argmax().item()
        if token == eos:
            break
        out.append(token)
    return out


@wrong("greedy_decode", "samples")
def _(next_logits, bos, eos, limit):
    tokens = [bos]
    for _step in range(limit):
        token = torch.multinomial(next_logits(tokens).softmax(-1), 1).item()
        if token == eos:
            break
        tokens.append(token)
    return tokens[1:]


@wrong("greedy_decode", "never stops at eos, filters at the end")
def _(next_logits, bos, eos, limit):
    tokens = [bos]
    for _step in range(limit):
        tokens.append(next_logits(tokens).argmax().item())
    return [t for t in tokens if t not in (bos, eos)]


@wrong("greedy_decode", "cuts the last token off even if it is no eos")
def _(next_logits, bos, eos, limit):
    tokens = [bos]
    while tokens[-1] != eos and len(tokens) <= limit:
        tokens.append(next_logits(tokens).argmax().item())
    return tokens[1:-1]


@wrong("greedy_decode", "does not begin with bos")
def _(next_logits, bos, eos, limit):
    tokens = []
    for _step in range(limit):
        token = next_logits(tokens).argmax().item()
        if token == eos:
            break
        tokens.append(token)
    return tokens


@wrong("greedy_decode", "hard-codes the ids of bos and eos")
def _(next_logits, bos, eos, limit):
    tokens = [BOS]
    for _step in range(limit):
        token = next_logits(tokens).argmax().item()
        if token == EOS:
            break
        tokens.append(token)
    return tokens[1:]


@wrong("greedy_decode", "returns the logits' maximum, not its place")
def _(next_logits, bos, eos, limit):
    tokens = [bos]
    for _step in range(limit):
        token = next_logits(tokens).max().item()
        if token == eos:
            break
        tokens.append(token)
    return tokens[1:]


@wrong("greedy_decode", "index of eos fails if the limit came first")
def _(next_logits, bos, eos, limit):
    tokens = [bos]
    while len(tokens) <= limit:
        tokens.append(next_logits(tokens).argmax().item())
        if tokens[-1] == eos:
            break
    return tokens[1 : tokens.index(eos)]


# ---------------------------------------------------------------- 4 exact_accuracy_by_length


@right("exact_accuracy_by_length")
def _(translations, references, edges):
    shares = []
    for low, high in zip(edges, edges[1:]):
        hits = [t == r for t, r in zip(translations, references) if low <= len(r) < high]
        shares.append(sum(hits) / len(hits))
    return shares


@right("exact_accuracy_by_length")
def _(translations, references, edges):
    right_, total = [0] * (len(edges) - 1), [0] * (len(edges) - 1)
    for t, r in zip(translations, references):
        for i in range(len(edges) - 1):
            if edges[i] <= len(r) < edges[i + 1]:
                total[i] += 1
                if list(t) == list(r):
                    right_[i] += 1
    return [a / b for a, b in zip(right_, total)]


@right("exact_accuracy_by_length")
def _(translations, references, edges):
    lengths = torch.tensor([len(r) for r in references])
    exact = torch.tensor([float(t == r) for t, r in zip(translations, references)])
    bins = torch.bucketize(lengths, torch.tensor(edges), right=True)
    return [exact[bins == i].mean().item() for i in range(1, len(edges))]


@wrong("exact_accuracy_by_length", "sorted by the length of the translation")
def _(translations, references, edges):
    shares = []
    for low, high in zip(edges, edges[1:]):
        hits = [t == r for t, r in zip(translations, references) if low <= len(t) < high]
        shares.append(sum(hits) / len(hits) if hits else 0.0)
    return shares


@wrong("exact_accuracy_by_length", "upper edge belongs to the bin")
def _(translations, references, edges):
    shares = []
    for low, high in zip(edges, edges[1:]):
        hits = [t == r for t, r in zip(translations, references) if low <= len(r) <= high]
        shares.append(sum(hits) / len(hits))
    return shares


@wrong("exact_accuracy_by_length", "lower edge left out, upper one in")
def _(translations, references, edges):
    shares = []
    for low, high in zip(edges, edges[1:]):
        hits = [t == r for t, r in zip(translations, references) if low < len(r) <= high]
        shares.append(sum(hits) / max(len(hits), 1))
    return shares


@wrong("exact_accuracy_by_length", "numbers instead of shares")
def _(translations, references, edges):
    return [
        sum(t == r for t, r in zip(translations, references) if edges[i] <= len(r) < edges[i + 1])
        for i in range(len(edges) - 1)
    ]


@wrong("exact_accuracy_by_length", "shares of all sentences, not of the bin")
def _(translations, references, edges):
    return [
        sum(t == r for t, r in zip(translations, references) if edges[i] <= len(r) < edges[i + 1])
        / len(references)
        for i in range(len(edges) - 1)
    ]


@wrong("exact_accuracy_by_length", "share of right tokens, not of right sentences")
def _(translations, references, edges):
    result = []
    for low, high in zip(edges, edges[1:]):
        good = total = 0
        for t, r in zip(translations, references):
            if low <= len(r) < high:
                good += sum(a == b for a, b in zip(t, r))
                total += len(r)
        result.append(good / total)
    return result


@wrong("exact_accuracy_by_length", "zip forgives what is missing or too much at the end")
def _(translations, references, edges):
    result = []
    for low, high in zip(edges, edges[1:]):
        inside = [(t, r) for t, r in zip(translations, references) if low <= len(r) < high]
        result.append(sum(all(a == b for a, b in zip(t, r)) for t, r in inside) / len(inside))
    return result


@wrong("exact_accuracy_by_length", "compares as sets, order does not matter")
def _(translations, references, edges):
    shares = []
    for low, high in zip(edges, edges[1:]):
        hits = [set(t) == set(r) for t, r in zip(translations, references) if low <= len(r) < high]
        shares.append(sum(hits) / len(hits))
    return shares


@wrong("exact_accuracy_by_length", "a last bin for everything longer")
def _(translations, references, edges):
    shares = []
    for i, low in enumerate(edges):
        high = edges[i + 1] if i + 1 < len(edges) else 10**9
        hits = [t == r for t, r in zip(translations, references) if low <= len(r) < high]
        shares.append(sum(hits) / len(hits) if hits else 0.0)
    return shares


@wrong("exact_accuracy_by_length", "longer sentences fall into the last bin")
def _(translations, references, edges):
    n = len(edges) - 1
    good, total = [0] * n, [0] * n
    for t, r in zip(translations, references):
        i = 0
        while i < n - 1 and len(r) >= edges[i + 1]:
            i += 1
        good[i] += t == r
        total[i] += 1
    return [g / m for g, m in zip(good, total)]


@wrong("exact_accuracy_by_length", "per cent")
def _(translations, references, edges):
    shares = []
    for low, high in zip(edges, edges[1:]):
        hits = [t == r for t, r in zip(translations, references) if low <= len(r) < high]
        shares.append(100 * sum(hits) / len(hits))
    return shares


@wrong("exact_accuracy_by_length", "forgets the last bin, range one too short")
def _(translations, references, edges):
    shares = []
    for i in range(len(edges) - 2):
        hits = [
            t == r
            for t, r in zip(translations, references)
            if edges[i] <= len(r) < edges[i + 1]
        ]
        shares.append(sum(hits) / len(hits))
    return shares


# ---------------------------------------------------------------- 5 gru_derivative


@right("gru_derivative")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * (r * u_n + dr * u_n * h)
    dh = z + (1 - z) * dn + (h - n) * dz
    return dz, dr, dn, dh


@right("gru_derivative")
def _(h, z, r, n, u_z, u_r, u_n):
    return [
        (dz := u_z * (z - z * z)),
        (dr := u_r * (r - r * r)),
        (dn := (1 - n) * (1 + n) * u_n * (r + h * dr)),
        -dz * n + (1 - z) * dn + dz * h + z,
    ]


@wrong("gru_derivative", "forgets that r depends on h in n")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * r * u_n
    dh = z + (1 - z) * dn + (h - n) * dz
    return dz, dr, dn, dh


@wrong("gru_derivative", "forgets that z depends on h in h'")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * u_n * (r + h * dr)
    dh = z + (1 - z) * dn
    return dz, dr, dn, dh


@wrong("gru_derivative", "n - h for h - n")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * u_n * (r + h * dr)
    dh = z + (1 - z) * dn + (n - h) * dz
    return dz, dr, dn, dh


@wrong("gru_derivative", "no inner derivative of the gates")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z)
    dr = r * (1 - r)
    dn = (1 - n**2) * u_n * (r + h * dr)
    dh = z + (1 - z) * dn + (h - n) * dz
    return dz, dr, dn, dh


@wrong("gru_derivative", "u_z and u_r swapped")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_r
    dr = r * (1 - r) * u_z
    dn = (1 - n**2) * u_n * (r + h * dr)
    dh = z + (1 - z) * dn + (h - n) * dz
    return dz, dr, dn, dh


@wrong("gru_derivative", "only the boxes, without what stands before them")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    inner = u_n * (r + h * dr)
    box = (1 - z) * (1 - n**2) * inner + (h - n) * dz
    return u_z, dr, inner, box


@wrong("gru_derivative", "returns only the last one")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * u_n * (r + h * dr)
    return z + (1 - z) * dn + (h - n) * dz


@wrong("gru_derivative", "product rule without the factor h")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * u_n * (r + dr)
    dh = z + (1 - z) * dn + (h - n) * dz
    return dz, dr, dn, dh


@wrong("gru_derivative", "applies sigmoid to the gate once more")
def _(h, z, r, n, u_z, u_r, u_n):
    def slope(x):
        s = 1 / (1 + math.exp(-x))
        return s * (1 - s)

    dz = slope(z) * u_z
    dr = slope(r) * u_r
    dn = (1 - n**2) * u_n * (r + h * dr)
    dh = z + (1 - z) * dn + (h - n) * dz
    return dz, dr, dn, dh


@wrong("gru_derivative", "z and 1 - z swapped in the last one")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * u_n * (r + h * dr)
    dh = (1 - z) + z * dn + (n - h) * dz
    return dz, dr, dn, dh


@wrong("gru_derivative", "last one without the z in front")
def _(h, z, r, n, u_z, u_r, u_n):
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * u_n * (r + h * dr)
    return dz, dr, dn, (1 - z) * dn + (h - n) * dz


# ---------------------------------------------------------------- 6 remembering_bias

right("remembering_bias")(4)
wrong("remembering_bias", "thinks sigmoid one half is enough")(0)
wrong("remembering_bias", "forgets the power of 20")(1)
wrong("remembering_bias", "guess")(2)
wrong("remembering_bias", "rounds 3.34 down")(3)
wrong("remembering_bias", "one too many")(5)
wrong("remembering_bias", "the solution of sigmoid(b)^20 = 1/2 itself, no whole number")(3.34)
wrong("remembering_bias", "sign of the bias wrong")(-4)
wrong("remembering_bias", "the share left, not the bias")(0.699)
wrong("remembering_bias", "asks for 95 % left")(6)


# ---------------------------------------------------------------- 7 lstm_encode


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


@right("lstm_encode")
def _(x, is_word, W, U, b):
    hidden = U.size(1)
    ends = []
    for sentence, words in zip(x, is_word):
        h = c = x.new_zeros(hidden)
        for v in sentence[words]:
            a = W @ v + U @ h + b
            i, f, g, o = a[:hidden], a[hidden : 2 * hidden], a[2 * hidden : -hidden], a[-hidden:]
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        ends.append(h)
    return torch.stack(ends)


@right("lstm_encode")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    states = []
    for t in range(x.size(1)):
        i, f, g, o = (x[:, t] @ W.T + h @ U.T + b).chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        states.append(h)
    return torch.stack(states, dim=1)[torch.arange(len(x)), is_word.sum(1) - 1]


@right("lstm_encode")
def _(x, is_word, W, U, b):
    lstm = nn.LSTM(W.size(1), U.size(1), batch_first=True).to(x.dtype)
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(W)
        lstm.weight_hh_l0.copy_(U)
        lstm.bias_ih_l0.copy_(b)
        lstm.bias_hh_l0.zero_()
    packed = pack_padded_sequence(
        x, is_word.sum(1), batch_first=True, enforce_sorted=False
    )
    _out, (h, _c) = lstm(packed)
    return h[0]


@wrong("lstm_encode", "ignores is_word, state after the padding")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        i, f, g, o = (x[:, t] @ W.T + h @ U.T + b).chunk(4, dim=-1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return h


@wrong("lstm_encode", "blocks in the order i, f, o, g")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        i, f, o, g = (x[:, t] @ W.T + h @ U.T + b).chunk(4, dim=-1)
        new_c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        new_h = o.sigmoid() * new_c.tanh()
        keep = is_word[:, t, None]
        c, h = torch.where(keep, new_c, c), torch.where(keep, new_h, h)
    return h


@wrong("lstm_encode", "input and forget gates swapped")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        f, i, g, o = (x[:, t] @ W.T + h @ U.T + b).chunk(4, dim=-1)
        new_c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        new_h = o.sigmoid() * new_c.tanh()
        keep = is_word[:, t, None]
        c, h = torch.where(keep, new_c, c), torch.where(keep, new_h, h)
    return h


@wrong("lstm_encode", "sigmoid for the candidate too")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        i, f, g, o = (x[:, t] @ W.T + h @ U.T + b).sigmoid().chunk(4, dim=-1)
        new_c = f * c + i * g
        new_h = o * new_c.tanh()
        keep = is_word[:, t, None]
        c, h = torch.where(keep, new_c, c), torch.where(keep, new_h, h)
    return h


@wrong("lstm_encode", "no tanh of the memory")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        i, f, g, o = (x[:, t] @ W.T + h @ U.T + b).chunk(4, dim=-1)
        new_c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        new_h = o.sigmoid() * new_c
        keep = is_word[:, t, None]
        c, h = torch.where(keep, new_c, c), torch.where(keep, new_h, h)
    return h


@wrong("lstm_encode", "padding sets the state to zero")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        i, f, g, o = (x[:, t] @ W.T + h @ U.T + b).chunk(4, dim=-1)
        mask = is_word[:, t].unsqueeze(-1)
        c = (f.sigmoid() * c + i.sigmoid() * g.tanh()) * mask
        h = (o.sigmoid() * c.tanh()) * mask
    return h


@wrong("lstm_encode", "zeros the inputs at the padding, the state still changes")
def _(x, is_word, W, U, b):
    x = x * is_word.unsqueeze(-1)
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        i, f, g, o = (x[:, t] @ W.T + h @ U.T + b).chunk(4, dim=-1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return h


@wrong("lstm_encode", "h from the old memory")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        i, f, g, o = (x[:, t] @ W.T + h @ U.T + b).chunk(4, dim=-1)
        new_h = o.sigmoid() * c.tanh()
        new_c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        keep = is_word[:, t, None]
        c, h = torch.where(keep, new_c, c), torch.where(keep, new_h, h)
    return h


@wrong("lstm_encode", "every fourth entry instead of blocks")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        i, f, g, o = (x[:, t] @ W.T + h @ U.T + b).view(len(x), -1, 4).unbind(-1)
        new_c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        new_h = o.sigmoid() * new_c.tanh()
        keep = is_word[:, t, None]
        c, h = torch.where(keep, new_c, c), torch.where(keep, new_h, h)
    return h


@wrong("lstm_encode", "chunk without dim cuts the batch")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        i, f, g, o = (x[:, t] @ W.T + h @ U.T + b).chunk(4)
        new_c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        new_h = o.sigmoid() * new_c.tanh()
        keep = is_word[:, t, None]
        c, h = torch.where(keep, new_c, c), torch.where(keep, new_h, h)
    return h


@wrong("lstm_encode", "PyTorch's LSTM with b in both of its biases")
def _(x, is_word, W, U, b):
    lstm = nn.LSTM(W.size(1), U.size(1), batch_first=True).to(x.dtype)
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(W)
        lstm.weight_hh_l0.copy_(U)
        lstm.bias_ih_l0.copy_(b)
        lstm.bias_hh_l0.copy_(b)
    out, _state = lstm(x)
    return out[torch.arange(len(x)), is_word.sum(1) - 1]


@wrong("lstm_encode", "stops for all at the first padding of any")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        if not is_word[:, t].all():
            break
        i, f, g, o = (x[:, t] @ W.T + h @ U.T + b).chunk(4, dim=-1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return h


@wrong("lstm_encode", "returns the memory instead of h")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        i, f, g, o = (x[:, t] @ W.T + h @ U.T + b).chunk(4, dim=-1)
        new_c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        new_h = o.sigmoid() * new_c.tanh()
        keep = is_word[:, t, None]
        c, h = torch.where(keep, new_c, c), torch.where(keep, new_h, h)
    return c


@wrong("lstm_encode", "forgets b")
def _(x, is_word, W, U, b):
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        i, f, g, o = (x[:, t] @ W.T + h @ U.T).chunk(4, dim=-1)
        new_c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        new_h = o.sigmoid() * new_c.tanh()
        keep = is_word[:, t, None]
        c, h = torch.where(keep, new_c, c), torch.where(keep, new_h, h)
    return h
