"""Answers of readers who saw only the statement."""
import math
from collections import Counter
from itertools import pairwise

from answers import right, wrong

# ---------------------------------------------------------------- 1 unfair_in
SAME = ["minutes", "signature", "test", "tokenizer", "trials"]


@right("unfair_in")
def _(first, second):
    bad = [key for key in SAME if first[key] != second[key]]
    if "test" in (first["chosen_on"], second["chosen_on"]):
        bad.append("chosen_on")
    return sorted(bad)


@right("unfair_in")
def _(first, second):
    found = set()
    for key in first:
        if key in ("model", "parameters", "steps"):
            continue
        if key == "chosen_on":
            if first[key] == "test" or second[key] == "test":
                found.add(key)
        elif first[key] != second[key]:
            found.add(key)
    return sorted(found)


@wrong("unfair_in", "chosen_on is only compared: both on test passes")
def _(first, second):
    keys = ["chosen_on", "minutes", "signature", "test", "tokenizer", "trials"]
    return [key for key in keys if first[key] != second[key]]


@wrong("unfair_in", "chosen_on only if both were chosen on test")
def _(first, second):
    bad = [key for key in SAME if first[key] != second[key]]
    if first["chosen_on"] == "test" and second["chosen_on"] == "test":
        bad.append("chosen_on")
    return sorted(bad)


@wrong("unfair_in", "looks only at the first result's chosen_on")
def _(first, second):
    bad = [key for key in SAME if first[key] != second[key]]
    if first["chosen_on"] == "test":
        bad.insert(0, "chosen_on")
    return bad


@wrong("unfair_in", "not in alphabetical order: chosen_on at the end")
def _(first, second):
    bad = [key for key in SAME if first[key] != second[key]]
    if "test" in (first["chosen_on"], second["chosen_on"]):
        bad.append("chosen_on")
    return bad


@wrong("unfair_in", "steps may not differ either")
def _(first, second):
    bad = [key for key in SAME + ["steps"] if first[key] != second[key]]
    if "test" in (first["chosen_on"], second["chosen_on"]):
        bad.append("chosen_on")
    return sorted(bad)


@wrong("unfair_in", "forgets the trials")
def _(first, second):
    bad = []
    if "test" in (first["chosen_on"], second["chosen_on"]):
        bad.append("chosen_on")
    for key in ("minutes", "signature", "test", "tokenizer"):
        if first[key] != second[key]:
            bad.append(key)
    return bad


@wrong("unfair_in", "unfair only if the first had more time and trials")
def _(first, second):
    bad = [k for k in ("signature", "test", "tokenizer") if first[k] != second[k]]
    bad += [k for k in ("minutes", "trials") if first[k] > second[k]]
    if "test" in (first["chosen_on"], second["chosen_on"]):
        bad.append("chosen_on")
    return sorted(bad)


@wrong("unfair_in", "chosen_on twice, once for each result")
def _(first, second):
    bad = [key for key in SAME if first[key] != second[key]]
    for result in (first, second):
        if result["chosen_on"] == "test":
            bad.append("chosen_on")
    return sorted(bad)


@wrong("unfair_in", "gives the keys that are fair")
def _(first, second):
    good = [key for key in SAME if first[key] == second[key]]
    if "test" not in (first["chosen_on"], second["chosen_on"]):
        good.append("chosen_on")
    return sorted(good)


@wrong("unfair_in", "gives None when nothing is wrong")
def _(first, second):
    bad = [key for key in SAME if first[key] != second[key]]
    if "test" in (first["chosen_on"], second["chosen_on"]):
        bad.append("chosen_on")
    if bad:
        return sorted(bad)


@wrong("unfair_in", "stops at the first objection")
def _(first, second):
    if "test" in (first["chosen_on"], second["chosen_on"]):
        return ["chosen_on"]
    for key in SAME:
        if first[key] != second[key]:
            return [key]
    return []


# ---------------------------------------------------------------- 2 next_merge
@right("next_merge")
def _(words):
    pairs = Counter()
    for word, n in words.items():
        for pair in zip(word, word[1:]):
            pairs[pair] += n
    return pairs.most_common(1)[0][0]


@right("next_merge")
def _(words):
    times = {}
    for word in words:
        for a, b in pairwise(word):
            times[a, b] = times.get((a, b), 0) + words[word]
    return max(times, key=times.get)


@right("next_merge")
def _(words):
    every = [list(p) for w, n in words.items() for _ in range(n) for p in pairwise(w)]
    return max(every, key=every.count)


@wrong("next_merge", "ignores how often the word occurs")
def _(words):
    pairs = Counter()
    for word in words:
        pairs.update(pairwise(word))
    return pairs.most_common(1)[0][0]


@wrong("next_merge", "a pair counts once in a word")
def _(words):
    pairs = Counter()
    for word, n in words.items():
        for pair in set(pairwise(word)):
            pairs[pair] += n
    return pairs.most_common(1)[0][0]


@wrong("next_merge", "crosses from word to word")
def _(words):
    text = []
    for word, n in words.items():
        text += list(word) * n
    return Counter(pairwise(text)).most_common(1)[0][0]


@wrong("next_merge", "joins the two into one token")
def _(words):
    pairs = Counter()
    for word, n in words.items():
        for a, b in pairwise(word):
            pairs[a + b] += n
    return pairs.most_common(1)[0][0]


@wrong("next_merge", "leaves out the pairs with the mark of a word's beginning")
def _(words):
    pairs = Counter()
    for word, n in words.items():
        for pair in pairwise(word):
            if "▁" not in pair:
                pairs[pair] += n
    return pairs.most_common(1)[0][0]


@wrong("next_merge", "off by one: the last pair of a word is missing")
def _(words):
    pairs = Counter()
    for word, n in words.items():
        for i in range(len(word) - 2):
            pairs[word[i], word[i + 1]] += n
    return pairs.most_common(1)[0][0]


@wrong("next_merge", "gives pair and number")
def _(words):
    pairs = Counter()
    for word, n in words.items():
        for pair in pairwise(word):
            pairs[pair] += n
    return pairs.most_common(1)[0]


@wrong("next_merge", "splits tokens into characters again")
def _(words):
    pairs = Counter()
    for word, n in words.items():
        for pair in pairwise("".join(word)):
            pairs[pair] += n
    return pairs.most_common(1)[0][0]


@wrong("next_merge", "overwrites the count instead of adding")
def _(words):
    pairs = {}
    for word, n in words.items():
        for pair in pairwise(word):
            pairs[pair] = n
    return max(pairs, key=pairs.get)


@wrong("next_merge", "the two most frequent tokens, neighbours or not")
def _(words):
    tokens = Counter()
    for word, n in words.items():
        for t in word:
            tokens[t] += n
    (a, _), (b, _) = tokens.most_common(2)
    return a, b


@wrong("next_merge", "disjoint pairs only: steps of two")
def _(words):
    pairs = Counter()
    for word, n in words.items():
        for i in range(0, len(word) - 1, 2):
            pairs[word[i : i + 2]] += n
    return pairs.most_common(1)[0][0]


@wrong("next_merge", "order in the pair does not matter: sorted")
def _(words):
    pairs = Counter()
    for word, n in words.items():
        for pair in pairwise(word):
            pairs[tuple(sorted(pair))] += n
    return pairs.most_common(1)[0][0]


# ---------------------------------------------------------------- 3 cut_into_subwords
@right("cut_into_subwords")
def _(word, merges):
    tokens = list(word)
    for a, b in merges:
        new, i = [], 0
        while i < len(tokens):
            if i + 1 < len(tokens) and tokens[i] == a and tokens[i + 1] == b:
                new.append(a + b)
                i += 2
            else:
                new.append(tokens[i])
                i += 1
        tokens = new
    return tokens


@right("cut_into_subwords")
def _(word, merges):
    tokens = list(word)
    for pair in merges:
        i = 0
        while i < len(tokens) - 1:
            if tuple(tokens[i : i + 2]) == tuple(pair):
                tokens[i : i + 2] = ["".join(pair)]
            i += 1
    return tuple(tokens)


@wrong("cut_into_subwords", "longest known subword from the left")
def _(word, merges):
    known = {a + b for a, b in merges}
    out, i = [], 0
    while i < len(word):
        for j in range(len(word), i, -1):
            if word[i:j] in known or j == i + 1:
                out.append(word[i:j])
                i = j
                break
    return out


@wrong("cut_into_subwords", "joins only the first place of each merge")
def _(word, merges):
    tokens = list(word)
    for a, b in merges:
        for i in range(len(tokens) - 1):
            if (tokens[i], tokens[i + 1]) == (a, b):
                tokens[i : i + 2] = [a + b]
                break
    return tokens


@wrong("cut_into_subwords", "shortens the list under a running range: IndexError")
def _(word, merges):
    tokens = list(word)
    for a, b in merges:
        for i in range(len(tokens) - 1):
            if tokens[i] == a and tokens[i + 1] == b:
                tokens[i] = a + b
                del tokens[i + 1]
    return tokens


@wrong("cut_into_subwords", "last merge first")
def _(word, merges):
    tokens = list(word)
    for a, b in reversed(merges):
        i = 0
        while i < len(tokens) - 1:
            if tokens[i] == a and tokens[i + 1] == b:
                tokens[i : i + 2] = [a + b]
            i += 1
    return tokens


@wrong("cut_into_subwords", "one walk from left to right, any merge that fits")
def _(word, merges):
    tokens = [word[0]]
    for letter in word[1:]:
        if (tokens[-1], letter) in merges:
            tokens[-1] += letter
        else:
            tokens.append(letter)
    return tokens


@wrong("cut_into_subwords", "takes the mark off first")
def _(word, merges):
    tokens = list(word.lstrip("▁"))
    for a, b in merges:
        i = 0
        while i < len(tokens) - 1:
            if tokens[i] == a and tokens[i + 1] == b:
                tokens[i : i + 2] = [a + b]
            i += 1
    return tokens


@wrong("cut_into_subwords", "adds a second mark in front")
def _(word, merges):
    tokens = ["▁", *word]
    for a, b in merges:
        i = 0
        while i < len(tokens) - 1:
            if tokens[i] == a and tokens[i + 1] == b:
                tokens[i : i + 2] = [a + b]
            i += 1
    return tokens


@wrong("cut_into_subwords", "replaces in the text with spaces, across token bounds")
def _(word, merges):
    text = " ".join(word)
    for a, b in merges:
        text = text.replace(a + " " + b, a + b)
    return text.split()


@wrong("cut_into_subwords", "gives a text with spaces")
def _(word, merges):
    tokens = list(word)
    for a, b in merges:
        i = 0
        while i < len(tokens) - 1:
            if tokens[i] == a and tokens[i + 1] == b:
                tokens[i : i + 2] = [a + b]
            i += 1
    return " ".join(tokens)


@wrong("cut_into_subwords", "after a join the token after it is swallowed")
def _(word, merges):
    tokens = list(word)
    for a, b in merges:
        new, i = [], 0
        while i < len(tokens) - 1:
            if tokens[i] == a and tokens[i + 1] == b:
                new.append(a + b)
                i += 2
            else:
                new.append(tokens[i])
                i += 1
        tokens = new
    return tokens


@wrong("cut_into_subwords", "overlapping joins: keeps the second part for the next one")
def _(word, merges):
    tokens = list(word)
    for a, b in merges:
        new, used = [], False
        for left, right_ in zip(tokens, tokens[1:] + [None]):
            if (left, right_) == (a, b):
                new.append(a + b)
                used = True
            elif used:
                used = False
            else:
                new.append(left)
        tokens = new
    return tokens


# ---------------------------------------------------------------- 4 corpus_bleu
def pooled(sentences):
    matches = [sum(c) for c in zip(*(s[0] for s in sentences))]
    totals = [sum(c) for c in zip(*(s[1] for s in sentences))]
    return matches, totals, sum(s[2] for s in sentences), sum(s[3] for s in sentences)


@right("corpus_bleu")
def _(sentences):
    matches, totals, said, wanted = pooled(sentences)
    return (
        100
        * min(1, math.exp(1 - wanted / said))
        * math.prod(m / t for m, t in zip(matches, totals)) ** (1 / len(totals))
    )


@right("corpus_bleu")
def _(sentences):
    orders = len(sentences[0][0])
    log = 0.0
    for n in range(orders):
        m = sum(s[0][n] for s in sentences)
        t = sum(s[1][n] for s in sentences)
        if m == 0:
            return 0.0
        log += math.log(m / t) / orders
    said = sum(s[2] for s in sentences)
    wanted = sum(s[3] for s in sentences)
    if said < wanted:
        log += 1 - wanted / said
    return 100 * math.exp(log)


@wrong("corpus_bleu", "pools the runs, but means the brevity of the sentences")
def _(sentences):
    matches, totals, _, _ = pooled(sentences)
    brevity = sum(min(1, math.exp(1 - w / s)) for _, _, s, w in sentences) / len(sentences)
    return 100 * brevity * math.prod(m / t for m, t in zip(matches, totals)) ** (1 / len(totals))


@wrong("corpus_bleu", "mean weighted by the length of the sentences")
def _(sentences):
    scores = [
        100 * s * min(1, math.exp(1 - w / s)) * math.prod(a / b for a, b in zip(m, t)) ** (1 / len(t))
        for m, t, s, w in sentences
    ]
    return sum(scores) / sum(s for _, _, s, _ in sentences)


@wrong("corpus_bleu", "arithmetic mean of the precisions")
def _(sentences):
    matches, totals, said, wanted = pooled(sentences)
    p = [m / t for m, t in zip(matches, totals)]
    return 100 * min(1, math.exp(1 - wanted / said)) * sum(p) / len(p)


@wrong("corpus_bleu", "brevity upside down: punishes long translations")
def _(sentences):
    matches, totals, said, wanted = pooled(sentences)
    p = math.prod(m / t for m, t in zip(matches, totals)) ** (1 / len(totals))
    return 100 * min(1, math.exp(1 - said / wanted)) * p


@wrong("corpus_bleu", "all lengths of runs in one precision")
def _(sentences):
    matches, totals, said, wanted = pooled(sentences)
    return 100 * min(1, math.exp(1 - wanted / said)) * sum(matches) / sum(totals)


@wrong("corpus_bleu", "no brevity penalty")
def _(sentences):
    matches, totals, _, _ = pooled(sentences)
    return 100 * math.prod(m / t for m, t in zip(matches, totals)) ** (1 / len(totals))


@wrong("corpus_bleu", "leaves out sentences with a 0 and keeps the mean")
def _(sentences):
    scores = [
        100 * min(1, math.exp(1 - w / s)) * math.prod(a / b for a, b in zip(m, t)) ** (1 / len(t))
        for m, t, s, w in sentences
        if min(m) > 0
    ]
    return sum(scores) / len(scores) if scores else 0.0


@wrong("corpus_bleu", "repairs the zeros by adding one, still a mean of sentences")
def _(sentences):
    scores = [
        100 * min(1, math.exp(1 - w / s)) * math.prod((a + 1) / (b + 1) for a, b in zip(m, t)) ** (1 / len(t))
        for m, t, s, w in sentences
    ]
    return sum(scores) / len(scores)


@wrong("corpus_bleu", "the fourth root, whatever the number of lengths")
def _(sentences):
    matches, totals, said, wanted = pooled(sentences)
    p = math.prod(m / t for m, t in zip(matches, totals)) ** 0.25
    return 100 * min(1, math.exp(1 - wanted / said)) * p


@wrong("corpus_bleu", "forgets min: longer than the reference is rewarded")
def _(sentences):
    matches, totals, said, wanted = pooled(sentences)
    p = math.prod(m / t for m, t in zip(matches, totals)) ** (1 / len(totals))
    return 100 * math.exp(1 - wanted / said) * p


@wrong("corpus_bleu", "mean over sentences of each precision, then the geometric mean")
def _(sentences):
    _, _, said, wanted = pooled(sentences)
    p = 1.0
    orders = len(sentences[0][1])
    for n in range(orders):
        p *= sum(m[n] / t[n] for m, t, _, _ in sentences) / len(sentences)
    return 100 * min(1, math.exp(1 - wanted / said)) * p ** (1 / orders)


@wrong("corpus_bleu", "from 0 to 1, the 100 lost")
def _(sentences):
    matches, totals, said, wanted = pooled(sentences)
    p = math.prod(m / t for m, t in zip(matches, totals)) ** (1 / len(totals))
    return min(1, math.exp(1 - wanted / said)) * p


# ---------------------------------------------------------------- 5 five_wrong_words
right("five_wrong_words")(72.8550595477542)
right("five_wrong_words")(72.86)
wrong("five_wrong_words", "thinks that places do not matter")(0)
wrong("five_wrong_words", "only the share of right words")(75.0)
wrong("five_wrong_words", "from 0 to 1")(0.7286)
wrong("five_wrong_words", "what is missing to 100")(27.14)
wrong("five_wrong_words", "as if even the best cannot have runs over the half: places at the ends only")(56.2)
wrong("five_wrong_words", "highest where the five stand in the middle: 7 + 8 right words")(100 * (15 / 20 * 13 / 19 * 11 / 18 * 9 / 17) ** 0.25)
wrong("five_wrong_words", "arithmetic mean of the four precisions")(100 * (15 / 20 + 14 / 19 + 13 / 18 + 12 / 17) / 4)
wrong("five_wrong_words", "compares with a perfect translation")(100.0)


# ---------------------------------------------------------------- 6 perplexity_per_word
@right("perplexity_per_word")
def _(perplexity, tokens, words):
    loss = math.log(perplexity)
    text = loss * tokens
    word = text / words
    return loss, text, word, math.exp(word)


@right("perplexity_per_word")
def _(perplexity, tokens, words):
    nats = math.log(perplexity)
    return [nats, tokens * nats, tokens / words * nats, perplexity ** (tokens / words)]


@wrong("perplexity_per_word", "bits in place of nats")
def _(perplexity, tokens, words):
    loss = math.log2(perplexity)
    return loss, loss * tokens, loss * tokens / words, 2 ** (loss * tokens / words)


@wrong("perplexity_per_word", "log2 at the beginning, exp at the end")
def _(perplexity, tokens, words):
    loss = math.log2(perplexity)
    return loss, loss * tokens, loss * tokens / words, math.exp(loss * tokens / words)


@wrong("perplexity_per_word", "words and tokens swapped")
def _(perplexity, tokens, words):
    loss = math.log(perplexity)
    text = loss * words
    return loss, text, text / tokens, math.exp(text / tokens)


@wrong("perplexity_per_word", "forgets the exp at the end")
def _(perplexity, tokens, words):
    loss = math.log(perplexity)
    text = loss * tokens
    return loss, text, text / words, text / words


@wrong("perplexity_per_word", "scales the perplexity itself")
def _(perplexity, tokens, words):
    loss = math.log(perplexity)
    return loss, loss * tokens, loss * tokens / words, perplexity * tokens / words


@wrong("perplexity_per_word", "the perplexity is taken for the loss")
def _(perplexity, tokens, words):
    text = perplexity * tokens
    return perplexity, text, text / words, math.exp(text / words)


@wrong("perplexity_per_word", "gives only the last number")
def _(perplexity, tokens, words):
    return math.exp(math.log(perplexity) * tokens / words)


@wrong("perplexity_per_word", "an EOS added to the words")
def _(perplexity, tokens, words):
    loss = math.log(perplexity)
    text = loss * tokens
    return loss, text, text / (words + 1), math.exp(text / (words + 1))


@wrong("perplexity_per_word", "sign: log-probabilities")
def _(perplexity, tokens, words):
    loss = -math.log(perplexity)
    return loss, loss * tokens, loss * tokens / words, math.exp(-loss * tokens / words)


@wrong("perplexity_per_word", "floor division")
def _(perplexity, tokens, words):
    loss = math.log(perplexity)
    return loss, loss * tokens, loss * (tokens // words), math.exp(loss * (tokens // words))


# ---------------------------------------------------------------- 7 chrf
def runs(text, n):
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


@right("chrf")
def _(said, wanted):
    said, wanted = said.replace(" ", ""), wanted.replace(" ", "")
    P = R = 0
    for n in range(1, 7):
        a, b = runs(said, n), runs(wanted, n)
        same = (a & b).total()
        P += same / a.total() / 6
        R += same / b.total() / 6
    return 100 * 5 * P * R / (4 * P + R) if P + R else 0.0


@right("chrf")
def _(said, wanted):
    said, wanted = "".join(said.split()), "".join(wanted.split())
    precisions, recalls = [], []
    for n in range(1, 7):
        have = [said[i : i + n] for i in range(len(said) + 1 - n)]
        want = [wanted[i : i + n] for i in range(len(wanted) + 1 - n)]
        left, hits = list(want), 0
        for run in have:
            if run in left:
                left.remove(run)
                hits += 1
        precisions.append(hits / max(1, len(have)))
        recalls.append(hits / max(1, len(want)))
    p, r = sum(precisions) / 6, sum(recalls) / 6
    if p == 0 or r == 0:
        return 0
    return 100 * (1 + 2**2) * p * r / (2**2 * p + r)


def chrf(said, wanted, *, beta=2, orders=range(1, 7), spaces=False, kinds=False, clip=True, f_mean=False,
         swap=False, product=False, safe=True, lower=False, pool=False, factor=100, squared=True):
    if not spaces:
        said, wanted = said.replace(" ", ""), wanted.replace(" ", "")
    if lower:
        said, wanted = said.lower(), wanted.lower()
    weight = beta**2 if squared else beta

    def f(p, r):
        if safe and p + r == 0:
            return 0.0
        if swap:
            p, r = r, p
        return factor * (1 + weight) * p * r / (weight * p + r)

    ps, rs, hits, have, want = [], [], 0, 0, 0
    for n in orders:
        a, b = runs(said, n), runs(wanted, n)
        if kinds:
            a, b = Counter(set(a)), Counter(set(b))
        if clip:
            same = sum(min(c, b[k]) for k, c in a.items())
        else:
            same = sum(c for k, c in a.items() if k in b)
        ps.append(same / sum(a.values()))
        rs.append(same / sum(b.values()))
        hits, have, want = hits + same, have + sum(a.values()), want + sum(b.values())
    if pool:
        return f(hits / have, hits / want)
    if f_mean:
        return sum(f(p, r) for p, r in zip(ps, rs)) / len(ps)
    if product:
        return f(math.prod(ps) ** (1 / len(ps)), math.prod(rs) ** (1 / len(rs)))
    return f(sum(ps) / len(ps), sum(rs) / len(rs))


def with_slip(**slip):
    def score(said, wanted):
        return chrf(said, wanted, **slip)

    return score


wrong("chrf", "spaces left in")(with_slip(spaces=True))
wrong("chrf", "each kind of run counted once")(with_slip(kinds=True))
wrong("chrf", "not clipped")(with_slip(clip=False))
wrong("chrf", "F for each length, then the mean of the six")(with_slip(f_mean=True))
wrong("chrf", "beta of 1: plain F")(with_slip(beta=1))
wrong("chrf", "beta not squared")(with_slip(squared=False))
wrong("chrf", "precision and recall swapped")(with_slip(swap=True))
wrong("chrf", "range(1, 6): five lengths")(with_slip(orders=range(1, 6)))
wrong("chrf", "geometric mean as in BLEU")(with_slip(product=True))
wrong("chrf", "all runs of all lengths in one share")(with_slip(pool=True))
wrong("chrf", "division by zero when nothing matches")(with_slip(safe=False))
wrong("chrf", "from 0 to 1")(with_slip(factor=1))
wrong("chrf", "upper and lower case are the same")(with_slip(lower=True))


@wrong("chrf", "runs of words, not characters")
def _(said, wanted):
    a, b = said.split(), wanted.split()
    P = R = 0
    for n in range(1, 7):
        x = Counter(tuple(a[i : i + n]) for i in range(len(a) - n + 1))
        y = Counter(tuple(b[i : i + n]) for i in range(len(b) - n + 1))
        same = (x & y).total()
        P += same / max(1, x.total()) / 6
        R += same / max(1, y.total()) / 6
    return 100 * 5 * P * R / (4 * P + R) if P + R else 0.0


@wrong("chrf", "last run of each text missing")
def _(said, wanted):
    said, wanted = said.replace(" ", ""), wanted.replace(" ", "")
    P = R = 0
    for n in range(1, 7):
        a = Counter(said[i : i + n] for i in range(len(said) - n))
        b = Counter(wanted[i : i + n] for i in range(len(wanted) - n))
        same = (a & b).total()
        P += same / max(1, a.total()) / 6
        R += same / max(1, b.total()) / 6
    return 100 * 5 * P * R / (4 * P + R) if P + R else 0.0
