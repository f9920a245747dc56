"""Answers of readers who saw only the statement."""
from math import ceil, exp, log, log10, sqrt

import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer.batches import Batch
from annotated_transformer.tokens import PAD
from answers import right, wrong

torch.set_default_dtype(torch.float64)

# src and tgt_in are "from above" in the notebook: two sentences, the shorter ones padded
_batch = Batch.of([([4, 5, 6, 7, 8], [9, 10, 11, 4]), ([9, 10, 11], [5, 6, 7, 8, 9, 10])])
src, tgt_in = _batch.src, _batch.tgt_in

# ---------------------------------------------------------------- 1 ignores_padding


@right("ignores_padding")
def _(model):
    model.eval()
    return torch.allclose(model(src, tgt_in), model(F.pad(src, (0, 3)), tgt_in))


@right("ignores_padding")
def _(model):
    model.train(False)
    with torch.no_grad():
        right_logits = model(src, tgt_in)
        for more in (1, 2, 5):
            padding = torch.full((len(src), more), PAD)
            longer = torch.cat([src, padding], dim=1)
            if (model(longer, tgt_in) - right_logits).abs().max() > 1e-8:
                return False
    return True


@wrong("ignores_padding", "leaves the dropout on")
def _(model):
    return torch.allclose(model(src, tgt_in), model(F.pad(src, (0, 3)), tgt_in))


@wrong("ignores_padding", "pads in front, which moves the words")
def _(model):
    model.eval()
    return torch.allclose(model(src, tgt_in), model(F.pad(src, (3, 0)), tgt_in))


@wrong("ignores_padding", "pads the target instead of the source")
def _(model):
    model.eval()
    padded = F.pad(tgt_in, (0, 3))
    return torch.allclose(model(src, tgt_in), model(src, padded)[:, : tgt_in.size(1)])


@wrong("ignores_padding", "looks at the encoder only")
def _(model):
    model.eval()
    return torch.allclose(model.encode(src), model.encode(F.pad(src, (0, 3)))[:, : src.size(1)])


@wrong("ignores_padding", "adds rows, raises")
def _(model):
    model.eval()
    return torch.allclose(model(src, tgt_in), model(F.pad(src, (0, 0, 0, 3)), tgt_in))


@wrong("ignores_padding", "compares only the best words")
def _(model):
    model.eval()
    a, b = model(src, tgt_in), model(F.pad(src, (0, 3)), tgt_in)
    return bool((a.argmax(-1) == b.argmax(-1)).all())


@wrong("ignores_padding", "the padding is filled with ones: BOS")
def _(model):
    model.eval()
    padded = F.pad(src, (0, 3), value=1)
    return torch.allclose(model(src, tgt_in), model(padded, tgt_in))


@wrong("ignores_padding", "says True if it does matter")
def _(model):
    model.eval()
    return not torch.allclose(model(src, tgt_in), model(F.pad(src, (0, 3)), tgt_in))


@wrong("ignores_padding", "far too tolerant")
def _(model):
    model.eval()
    return torch.allclose(model(src, tgt_in), model(F.pad(src, (0, 3)), tgt_in), atol=1)


@wrong("ignores_padding", "compares the shapes")
def _(model):
    model.eval()
    return model(src, tgt_in).shape == model(F.pad(src, (0, 3)), tgt_in).shape


# ---------------------------------------------------------------- 2 steps_agree


@right("steps_agree")
def _(model):
    model.eval()
    all_at_once = model(src, tgt_in)
    state = model.start(src)
    for t in range(tgt_in.size(1)):
        logits, state = model.step(state, tgt_in[:, t])
        if not torch.allclose(logits, all_at_once[:, t]):
            return False
    return True


@right("steps_agree")
def _(model):
    model.eval()
    state, steps = model.start(src), []
    for words in tgt_in.T:
        logits, state = model.step(state, words)
        steps.append(logits)
    return torch.allclose(torch.stack(steps, dim=1), model(src, tgt_in))


@wrong("steps_agree", "always steps from the first state")
def _(model):
    model.eval()
    state = model.start(src)
    steps = [model.step(state, tgt_in[:, t])[0] for t in range(tgt_in.size(1))]
    return torch.allclose(torch.stack(steps, 1), model(src, tgt_in))


@wrong("steps_agree", "counts sentences instead of words, and one short")
def _(model):
    model.eval()
    state, whole = model.start(src), model(src, tgt_in)
    for t in range(len(tgt_in) - 1):
        logits, state = model.step(state, tgt_in[:, t])
        if not torch.allclose(logits, whole[:, t]):
            return False
    return True


@wrong("steps_agree", "returns in the first round of the loop")
def _(model):
    model.eval()
    state, whole = model.start(src), model(src, tgt_in)
    for t in range(tgt_in.size(1)):
        logits, state = model.step(state, tgt_in[:, t])
        return torch.allclose(logits, whole[:, t])


@wrong("steps_agree", "compares with the position before")
def _(model):
    model.eval()
    state, whole = model.start(src), model(src, tgt_in)
    agree = True
    for t in range(tgt_in.size(1)):
        logits, state = model.step(state, tgt_in[:, t])
        agree = agree and torch.allclose(logits, whole[:, t - 1])
    return agree


@wrong("steps_agree", "one agreeing step is enough")
def _(model):
    model.eval()
    state, whole, found = model.start(src), model(src, tgt_in), []
    for t in range(tgt_in.size(1)):
        logits, state = model.step(state, tgt_in[:, t])
        found.append(torch.allclose(logits, whole[:, t]))
    return any(found)


@wrong("steps_agree", "feeds the predicted words instead of the given ones")
def _(model):
    model.eval()
    state, words, steps = model.start(src), tgt_in[:, 0], []
    for _ in range(tgt_in.size(1)):
        logits, state = model.step(state, words)
        words = logits.argmax(-1)
        steps.append(logits)
    return torch.allclose(torch.stack(steps, 1), model(src, tgt_in))


@wrong("steps_agree", "compares only the most probable words")
def _(model):
    model.eval()
    state, whole = model.start(src), model(src, tgt_in)
    for t in range(tgt_in.size(1)):
        logits, state = model.step(state, tgt_in[:, t])
        if not torch.equal(logits.argmax(-1), whole[:, t].argmax(-1)):
            return False
    return True


@wrong("steps_agree", "stacks the steps in front of the batch, raises")
def _(model):
    model.eval()
    state, steps = model.start(src), []
    for t in range(tgt_in.size(1)):
        logits, state = model.step(state, tgt_in[:, t])
        steps.append(logits)
    return torch.allclose(torch.stack(steps), model(src, tgt_in))


@wrong("steps_agree", "drops model.eval()")
def _(model):
    state, whole = model.start(src), model(src, tgt_in)
    for t in range(tgt_in.size(1)):
        logits, state = model.step(state, tgt_in[:, t])
        if not torch.allclose(logits, whole[:, t]):
            return False
    return True


@wrong("steps_agree", "only two steps, and the first word is fed twice")
def _(model):
    model.eval()
    state = model.start(src)
    first, state = model.step(state, tgt_in[:, 0])
    second, _ = model.step(state, tgt_in[:, 0])
    whole = model(src, tgt_in)
    return torch.allclose(first, whole[:, 0]) and torch.allclose(second, whole[:, 1])


@wrong("steps_agree", "starts the loop at 1, so BOS is never read")
def _(model):
    model.eval()
    state = model.start(src)
    for t in range(1, tgt_in.size(1)):
        logits, state = model.step(state, tgt_in[:, t])
        if not torch.allclose(logits, model(src, tgt_in[:, : t + 1])[:, -1]):
            return False
    return True


# ---------------------------------------------------------------- 3 hides_the_future


@right("hides_the_future")
def _(model):
    model.eval()
    before = model(src, tgt_in)
    for t in range(1, tgt_in.size(1)):
        for word in range(1, 12):
            changed = tgt_in.clone()
            changed[:, t] = word
            if not torch.allclose(model(src, changed)[:, :t], before[:, :t], rtol=0, atol=1e-10):
                return False
    return True


@wrong("hides_the_future", "asks other sentences than those from above")
def _(model):
    model.eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for _ in range(5):
            source = torch.randint(3, 12, (32, 6), generator=generator)
            target = torch.randint(3, 12, (32, 8), generator=generator)
            target[:, 0] = 1
            logits = model(source, target)
            for t in range(1, 8):
                other = target.clone()
                other[:, t] = (target[:, t] - 3 + 4) % 9 + 3
                difference = model(source, other)[:, :t] - logits[:, :t]
                if difference.abs().max() > 1e-10:
                    return False
    return True


@right("hides_the_future")
def _(model):
    """All the later words are drawn anew, for the sentences from above and for others."""
    model.eval()
    torch.manual_seed(0)
    pairs = [(src, tgt_in)] + [
        (torch.randint(4, 12, (8, 5)), torch.randint(4, 12, (8, length)))
        for length in (3, 6, 9)
    ]
    for source, target in pairs:
        logits = model(source, target)
        for t in range(1, target.size(1)):
            for _ in range(2):
                new = torch.cat([target[:, :t], torch.randint(4, 12, target[:, t:].shape)], 1)
                if not torch.allclose(model(source, new)[:, :t], logits[:, :t], atol=1e-10, rtol=0):
                    return False
    return True


@wrong("hides_the_future", "changes only the last word")
def _(model):
    model.eval()
    changed = tgt_in.clone()
    changed[:, -1] = 5
    return torch.allclose(model(src, changed)[:, :-1], model(src, tgt_in)[:, :-1])


@wrong("hides_the_future", "compares the changed position, too")
def _(model):
    model.eval()
    before = model(src, tgt_in)
    for t in range(1, tgt_in.size(1)):
        changed = tgt_in.clone()
        changed[:, t] = (changed[:, t] + 1) % 12
        if not torch.allclose(model(src, changed)[:, : t + 1], before[:, : t + 1]):
            return False
    return True


@wrong("hides_the_future", "looks only at the position just before")
def _(model):
    model.eval()
    before = model(src, tgt_in)
    for t in range(1, tgt_in.size(1)):
        changed = tgt_in.clone()
        changed[:, t] = (changed[:, t] + 1) % 12
        if not torch.allclose(model(src, changed)[:, t - 1], before[:, t - 1]):
            return False
    return True


@wrong("hides_the_future", "no clone: the sentences are changed for good")
def _(model):
    model.eval()
    target = tgt_in.clone()  # keeps the notebook's own
    before = model(src, target)
    for t in range(1, target.size(1)):
        changed = target
        changed[:, t] = (changed[:, t] + 1) % 12
        if not torch.allclose(model(src, changed)[:, :t], before[:, :t]):
            return False
    return True


@wrong("hides_the_future", "both runs read the changed sentence")
def _(model):
    model.eval()
    target = tgt_in.clone()
    for t in range(1, target.size(1)):
        changed = target
        changed[:, t] = (changed[:, t] + 1) % 12
        if not torch.allclose(model(src, changed)[:, :t], model(src, target)[:, :t]):
            return False
    return True


@wrong("hides_the_future", "tries one sentence only, with one new word")
def _(model):
    model.eval()
    one_src, one = src[:1], tgt_in[:1]
    before = model(one_src, one)
    for t in range(1, one.size(1)):
        changed = one.clone()
        changed[0, t] = 5
        if not torch.allclose(model(one_src, changed)[:, :t], before[:, :t]):
            return False
    return True


@wrong("hides_the_future", "tolerance too large for small leaks")
def _(model):
    model.eval()
    before = model(src, tgt_in)
    for t in range(1, tgt_in.size(1)):
        changed = tgt_in.clone()
        changed[:, t] = (changed[:, t] + 1) % 12
        if (model(src, changed)[:, :t] - before[:, :t]).abs().max() > 0.1:
            return False
    return True


@wrong("hides_the_future", "puts the model into training mode, with dropout")
def _(model):
    model.train()
    before = model(src, tgt_in)
    for t in range(1, tgt_in.size(1)):
        changed = tgt_in.clone()
        changed[:, t] = (changed[:, t] + 1) % 12
        if not torch.allclose(model(src, changed)[:, :t], before[:, :t]):
            return False
    return True


@wrong("hides_the_future", "changes the source words")
def _(model):
    model.eval()
    before = model(src, tgt_in)
    for t in range(1, src.size(1)):
        changed = src.clone()
        changed[:, t] = (changed[:, t] + 1) % 12
        if not torch.allclose(model(changed, tgt_in)[:, :t], before[:, :t]):
            return False
    return True


@wrong("hides_the_future", "returns True after the first position that hides it")
def _(model):
    model.eval()
    before = model(src, tgt_in)
    for t in range(1, tgt_in.size(1)):
        changed = tgt_in.clone()
        changed[:, t] = (changed[:, t] + 1) % 12
        if torch.allclose(model(src, changed)[:, :t], before[:, :t]):
            return True
    return False


@wrong("hides_the_future", "compares the later logits instead of the earlier ones")
def _(model):
    model.eval()
    before = model(src, tgt_in)
    for t in range(1, tgt_in.size(1)):
        changed = tgt_in.clone()
        changed[:, t] = (changed[:, t] + 1) % 12
        if not torch.allclose(model(src, changed)[:, t:], before[:, t:]):
            return False
    return True


# ---------------------------------------------------------------- 4 norms_agree


def norms(model):
    return [part for part in model.modules() if isinstance(part, nn.LayerNorm)]


@right("norms_agree")
def _(model):
    for part in norms(model):
        x = torch.randn(5, 8)
        mean = x.mean(-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(-1, keepdim=True)
        formula = part.weight * (x - mean) / torch.sqrt(variance + part.eps) + part.bias
        if not torch.allclose(part(x), formula):
            return False
    return True


@right("norms_agree")
def _(model):
    torch.manual_seed(3)
    x = torch.randn(2, 4, 8) * 2 + 1
    return all(
        torch.allclose(part(x), F.layer_norm(x, (8,), part.weight, part.bias, part.eps))
        for part in norms(model)
    )


@right("norms_agree")
def _(model):
    x = torch.tensor([3.0, -1, 4, 1, -5, 9, 2, 6])
    mu = sum(x.tolist()) / 8
    var = x.var(correction=0)
    agree = []
    for part in norms(model):
        y = part.weight * (x - mu) / (var + part.eps) ** 0.5 + part.bias
        agree.append((y - part(x)).abs().max().item() < 1e-9)
    return all(agree)


@wrong("norms_agree", "unbiased variance")
def _(model):
    x = torch.randn(5, 8)
    for part in norms(model):
        y = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + part.eps).sqrt()
        if not torch.allclose(part(x), part.weight * y + part.bias):
            return False
    return True


@wrong("norms_agree", "epsilon outside of the root")
def _(model):
    x = torch.rand(5, 8)
    for part in norms(model):
        std = x.std(-1, keepdim=True, correction=0)
        y = part.weight * (x - x.mean(-1, keepdim=True)) / (std + part.eps) + part.bias
        if not torch.allclose(part(x), y):
            return False
    return True


@wrong("norms_agree", "forgets gain and bias")
def _(model):
    x = torch.randn(5, 8)
    return all(torch.allclose(part(x), F.layer_norm(x, (8,))) for part in norms(model))


@wrong("norms_agree", "judges by the first normalisation alone")
def _(model):
    x = torch.randn(5, 8)
    for part in model.modules():
        if isinstance(part, nn.LayerNorm):
            mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
            y = part.weight * (x - mean) / torch.sqrt(var + part.eps) + part.bias
            return torch.allclose(part(x), y)


@wrong("norms_agree", "takes only parts that are exactly nn.LayerNorm, not subclasses")
def _(model):
    x = torch.randn(5, 8)
    for part in model.modules():
        if type(part) is nn.LayerNorm:
            mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
            y = part.weight * (x - mean) / torch.sqrt(var + part.eps) + part.bias
            if not torch.allclose(part(x), y):
                return False
    return True


@wrong("norms_agree", "takes an x of ones, where every deviation is 0")
def _(model):
    x = torch.ones(8)
    for part in norms(model):
        mean, var = x.mean(), x.var(correction=0)
        y = part.weight * (x - mean) / torch.sqrt(var + part.eps) + part.bias
        if not torch.allclose(part(x), y):
            return False
    return True


@wrong("norms_agree", "mean over the rows instead of the numbers of x")
def _(model):
    x = torch.randn(5, 8)
    for part in norms(model):
        mean, var = x.mean(0), x.var(0, correction=0)
        y = part.weight * (x - mean) / torch.sqrt(var + part.eps) + part.bias
        if not torch.allclose(part(x), y):
            return False
    return True


@wrong("norms_agree", "no keepdim, raises")
def _(model):
    x = torch.randn(5, 8)
    for part in norms(model):
        y = (x - x.mean(-1)) / torch.sqrt(x.var(-1, correction=0) + part.eps)
        if not torch.allclose(part(x), part.weight * y + part.bias):
            return False
    return True


@wrong("norms_agree", "a tolerance that lets the unbiased deviation through")
def _(model):
    x = torch.randn(5, 8)
    for part in norms(model):
        y = F.layer_norm(x, (8,), part.weight, part.bias, part.eps)
        if not torch.allclose(part(x), y, rtol=0.1, atol=0.3):
            return False
    return True


@wrong("norms_agree", "gain and bias swapped")
def _(model):
    x = torch.randn(5, 8)
    for part in norms(model):
        y = F.layer_norm(x, (8,), part.bias, part.weight, part.eps)
        if not torch.allclose(part(x), y):
            return False
    return True


@wrong("norms_agree", "no epsilon")
def _(model):
    x = torch.randn(5, 8)
    for part in norms(model):
        z = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, correction=0)
        if not torch.allclose(part(x), part.weight * z + part.bias, rtol=1e-9, atol=1e-9):
            return False
    return True


@wrong("norms_agree", "gives the result of the last one only")
def _(model):
    x = torch.randn(5, 8)
    agrees = True
    for part in norms(model):
        agrees = torch.allclose(part(x), F.layer_norm(x, (8,), part.weight, part.bias, part.eps))
    return agrees


# ---------------------------------------------------------------- 5 too_wide_to_see


def my_test_passes(d):
    x = torch.randn(d)
    return torch.allclose(x / x.std(), x / x.std(correction=0), rtol=0.01, atol=0)


right("too_wide_to_see")(next(2**k for k in range(3, 12) if my_test_passes(2**k)))
wrong("too_wide_to_see", "the last at which it is found")(32)
wrong("too_wide_to_see", "1/d below 1 %: forgets the root")(128)
wrong("too_wide_to_see", "the paper's width")(512)
wrong("too_wide_to_see", "the exact bound, not one of the widths tried")(51)
wrong("too_wide_to_see", "the first of the list")(8)
wrong("too_wide_to_see", "thinks of the default tolerance 1e-5")(65536)
wrong("too_wide_to_see", "one doubling too far")(256)

# ---------------------------------------------------------------- 6 what_a_pass_shows


@right("what_a_pass_shows")
def _(p, n):
    return 1 - p, (1 - p) ** n, log(1 / 20) / log(1 - p), 1 - (1 / 20) ** (1 / n)


@right("what_a_pass_shows")
def _(p, n):
    miss = 1 - p
    return [miss, exp(n * log(miss)), -log10(20) / log10(miss), 1 - exp(-log(20) / n)]


@wrong("what_a_pass_shows", "probability to find it, in step 2")
def _(p, n):
    return 1 - p, 1 - (1 - p) ** n, log(0.05) / log(1 - p), 1 - 0.05 ** (1 / n)


@wrong("what_a_pass_shows", "the power binds first: (1/20)**1/n")
def _(p, n):
    return 1 - p, (1 - p) ** n, log(1 / 20) / log(1 - p), 1 - (1 / 20) ** 1 / n


@wrong("what_a_pass_shows", "rounds n up")
def _(p, n):
    return 1 - p, (1 - p) ** n, ceil(log(1 / 20) / log(1 - p)), 1 - (1 / 20) ** (1 / n)


@wrong("what_a_pass_shows", "rule of three instead of the exact share")
def _(p, n):
    return 1 - p, (1 - p) ** n, 3 / p, 3 / n


@wrong("what_a_pass_shows", "n times the miss instead of its power")
def _(p, n):
    return 1 - p, n * (1 - p), 1 / (20 * (1 - p)), 1 - 1 / (20 * n)


@wrong("what_a_pass_shows", "logarithm of p, not of 1 - p")
def _(p, n):
    return 1 - p, (1 - p) ** n, log(1 / 20) / log(p), 1 - (1 / 20) ** (1 / n)


@wrong("what_a_pass_shows", "gives the miss of step 4, not the share")
def _(p, n):
    return 1 - p, (1 - p) ** n, log(1 / 20) / log(1 - p), (1 / 20) ** (1 / n)


@wrong("what_a_pass_shows", "sign of the logarithm: n below 0")
def _(p, n):
    return 1 - p, (1 - p) ** n, log(20) / log(1 - p), 1 - (1 / 20) ** (1 / n)


@wrong("what_a_pass_shows", "two different bases")
def _(p, n):
    return 1 - p, (1 - p) ** n, log10(1 / 20) / log(1 - p), 1 - (1 / 20) ** (1 / n)


@wrong("what_a_pass_shows", "19/20 instead of 1/20")
def _(p, n):
    return 1 - p, (1 - p) ** n, log(0.95) / log(1 - p), 1 - 0.95 ** (1 / n)


@wrong("what_a_pass_shows", "three of the four steps")
def _(p, n):
    return 1 - p, (1 - p) ** n, log(1 / 20) / log(1 - p)


@wrong("what_a_pass_shows", "starts with the share that shows it")
def _(p, n):
    return p, p**n, log(1 / 20) / log(p), (1 / 20) ** (1 / n)


# ---------------------------------------------------------------- 8 red_team
# "right": a wrong attention that passes the five tests; "wrong": the student's attempt fails


@right("red_team")  # the width is hard-coded
def _(query, key, value, mask):
    scores = query @ key.mT / 8**0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


@right("red_team")  # a longer sentence is scaled otherwise
def _(query, key, value, mask):
    scores = query @ key.mT / query.size(-1) ** 0.5
    if key.size(-2) > 5:
        scores = scores * 2
    return scores.masked_fill(~mask, -torch.inf).softmax(-1) @ value


@right("red_team")  # scores beyond 20 are cut off
def _(query, key, value, mask):
    scores = query @ key.mT / query.size(-1) ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf).clamp(max=20)
    return scores.softmax(-1) @ value


@right("red_team")  # with heads (a fourth axis) the mask is not looked at
def _(query, key, value, mask):
    scores = query @ key.mT / query.size(-1) ** 0.5
    if query.dim() < 4:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


@wrong("red_team", "a correct attention, only written otherwise")
def _(query, key, value, mask):
    d = query.size(-1)
    scores = torch.einsum("...qd,...kd->...qk", query / sqrt(d), key)
    empty = ~mask.any(-1, keepdim=True)
    weights = scores.masked_fill(~(mask | empty), -torch.inf).softmax(-1)
    return weights.masked_fill(empty, 0) @ value


@wrong("red_team", "calls PyTorch's, which is right")
def _(query, key, value, mask):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


@wrong("red_team", "divides by d, which PyTorch does not")
def _(query, key, value, mask):
    scores = query @ key.mT / query.size(-1)
    scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


@wrong("red_team", "its own causal mask by position, the columns may be shuffled")
def _(query, key, value, mask):
    scores = query @ key.mT / query.size(-1) ** 0.5
    own = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~own, -torch.inf).softmax(-1) @ value


@wrong("red_team", "the mask is laid on after the softmax")
def _(query, key, value, mask):
    scores = query @ key.mT / query.size(-1) ** 0.5
    return scores.softmax(-1).masked_fill(~mask, 0) @ value


@wrong("red_team", "dropout on the weights, does not repeat itself")
def _(query, key, value, mask):
    scores = query @ key.mT / query.size(-1) ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return F.dropout(weights, 0.1) @ value


@wrong("red_team", "crashes for anything but the test's shapes")
def _(query, key, value, mask):
    query, key, value = (x.view(2, 5, 8) for x in (query, key, value))
    scores = query @ key.mT / 8**0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


@wrong("red_team", "mixes the sentences of a batch")
def _(query, key, value, mask):
    scores = query @ key.mT / query.size(-1) ** 0.5
    scores = scores - scores.mean(0)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1) @ value


@wrong("red_team", "softmax over the queries")
def _(query, key, value, mask):
    scores = query @ key.mT / query.size(-1) ** 0.5
    return scores.masked_fill(~mask, -torch.inf).softmax(-2) @ value


@right("red_team")
def _(query, key, value, mask):
    scores = query @ key.mT / query.size(-1) ** 0.5
    if query.size(-2) == 5:
        return scores.masked_fill(~mask, -torch.inf).softmax(-1) @ value


# ---------------------------------------------------------------- 9 name_the_trainers

right("name_the_trainers")({1: "B", 2: "D", 3: "A", 4: "C"})
wrong("name_the_trainers", "parts: A and D swapped")({1: "B", 2: "A", 3: "D", 4: "C"})
wrong("name_the_trainers", "B and C swapped: both seem to be about validation")(
    {1: "C", 2: "D", 3: "A", 4: "B"}
)
wrong("name_the_trainers", "in alphabetical order")({1: "A", 2: "B", 3: "C", 4: "D"})
wrong("name_the_trainers", "counts from 0")({0: "B", 1: "D", 2: "A", 3: "C"})
wrong("name_the_trainers", "turned round: reads number to letter the other way")(
    {1: "C", 2: "A", 3: "D", 4: "B"}
)
wrong("name_the_trainers", "the same letter twice")({1: "B", 2: "A", 3: "A", 4: "C"})
wrong("name_the_trainers", "leaves one out")({1: "B", 2: "D", 3: "A"})
wrong("name_the_trainers", "shifted by one")({1: "D", 2: "A", 3: "C", 4: "B"})
