"""Answers of readers who saw only the statement."""
import math
from collections import Counter

from answers import right, wrong


@right("unfair_in")
def _(first, second):
    same = ["minutes", "signature", "test", "tokenizer", "trials"]
    bad = [key for key in same if first[key] != second[key]]
    if "test" in (first["chosen_on"], second["chosen_on"]):
        bad.append("chosen_on")
    return sorted(bad)


@wrong("unfair_in", "chosen_on objected to where the two differ")
def _(first, second):
    keys = ["chosen_on", "minutes", "signature", "test", "tokenizer", "trials"]
    return [k for k in keys if first[k] != second[k]]


@wrong("unfair_in", "all keys that differ, models and steps too")
def _(first, second):
    bad = {k for k in first if first[k] != second[k]}
    if first["chosen_on"] == "test" or second["chosen_on"] == "test":
        bad.add("chosen_on")
    return sorted(bad)


@wrong("unfair_in", "chosen_on only if both were chosen on the test split")
def _(first, second):
    keys = ["minutes", "signature", "test", "tokenizer", "trials"]
    bad = [k for k in keys if first[k] != second[k]]
    if first["chosen_on"] == "test" and second["chosen_on"] == "test":
        bad = ["chosen_on"] + bad
    return bad


@right("next_merge")
def _(words):
    count = Counter()
    for word, n in words.items():
        for pair in zip(word, word[1:]):
            count[pair] += n
    return max(count, key=count.get)


@wrong("next_merge", "each word counted once, whatever its number")
def _(words):
    count = Counter()
    for word in words:
        count.update(zip(word, word[1:]))
    return count.most_common(1)[0][0]


@wrong("next_merge", "a pair counted once a word, though it stands there twice")
def _(words):
    count = Counter()
    for word, n in words.items():
        for pair in set(zip(word[:-1], word[1:])):
            count[pair] += n
    return count.most_common(1)[0][0]


@wrong("next_merge", "the joined text instead of the pair")
def _(words):
    count = Counter()
    for word, n in words.items():
        for a, b in zip(word, word[1:]):
            count[a + b] += n
    return count.most_common(1)[0][0]


@right("cut_into_subwords")
def _(word, merges):
    tokens = list(word)
    for a, b in merges:
        i = 0
        while i < len(tokens) - 1:
            if tokens[i] == a and tokens[i + 1] == b:
                tokens[i : i + 2] = [a + b]
            i += 1
    return tokens


@wrong("cut_into_subwords", "joins only the first place of a merge")
def _(word, merges):
    tokens = list(word)
    for a, b in merges:
        for i in range(len(tokens) - 1):
            if (tokens[i], tokens[i + 1]) == (a, b):
                tokens = tokens[:i] + [a + b] + tokens[i + 2 :]
                break
    return tokens


@wrong("cut_into_subwords", "the longest piece first, from the left")
def _(word, merges):
    pieces = {a + b for a, b in merges}
    out, i = [], 0
    while i < len(word):
        for j in range(len(word), i, -1):
            if word[i:j] in pieces or j == i + 1:
                out.append(word[i:j])
                i = j
                break
    return out


@wrong("cut_into_subwords", "goes through the merges from the last learned to the first")
def _(word, merges):
    tokens = list(word)
    for a, b in reversed(merges):
        i = 0
        while i < len(tokens) - 1:
            if tokens[i] == a and tokens[i + 1] == b:
                tokens[i : i + 2] = [a + b]
            i += 1
    return tokens


@right("corpus_bleu")
def _(sentences):
    sentences = list(sentences)
    matches = [sum(c) for c in zip(*(s[0] for s in sentences))]
    totals = [sum(c) for c in zip(*(s[1] for s in sentences))]
    said, wanted = sum(s[2] for s in sentences), sum(s[3] for s in sentences)
    if min(matches) == 0:
        return 0.0
    geo = math.prod(m / t for m, t in zip(matches, totals)) ** (1 / len(totals))
    return 100 * min(1, math.exp(1 - wanted / said)) * geo


@wrong("corpus_bleu", "precisions averaged over the sentences, not summed counts")
def _(sentences):
    n = len(sentences[0][1])
    p = [sum(s[0][k] / s[1][k] for s in sentences) / len(sentences) for k in range(n)]
    said, wanted = sum(s[2] for s in sentences), sum(s[3] for s in sentences)
    return 100 * min(1, math.exp(1 - wanted / said)) * math.prod(p) ** (1 / n)


@wrong("corpus_bleu", "sums matches, but keeps a mean of the brevity penalties")
def _(sentences):
    n = len(sentences[0][1])
    p = [sum(s[0][k] for s in sentences) / sum(s[1][k] for s in sentences) for k in range(n)]
    bp = sum(min(1, math.exp(1 - s[3] / s[2])) for s in sentences) / len(sentences)
    return 100 * bp * math.prod(p) ** (1 / n)


@wrong("corpus_bleu", "the arithmetic mean of the precisions")
def _(sentences):
    n = len(sentences[0][1])
    p = [sum(s[0][k] for s in sentences) / sum(s[1][k] for s in sentences) for k in range(n)]
    said, wanted = sum(s[2] for s in sentences), sum(s[3] for s in sentences)
    return 100 * min(1, math.exp(1 - wanted / said)) * sum(p) / n


right("five_wrong_words")(72.86)
wrong("five_wrong_words", "the share of right words")(75)
wrong("five_wrong_words", "the places do not matter")(0)
wrong("five_wrong_words", "as a fraction of one")(0.73)


@right("perplexity_per_word")
def _(perplexity, tokens, words):
    loss = math.log(perplexity)
    text = loss * tokens
    per_word = text / words
    return loss, text, per_word, math.exp(per_word)


@wrong("perplexity_per_word", "the perplexity itself divided")
def _(perplexity, tokens, words):
    loss = math.log(perplexity)
    return loss, loss * tokens, loss * tokens / words, perplexity * tokens / words


@wrong("perplexity_per_word", "loss in bits and an exponential of e")
def _(perplexity, tokens, words):
    loss = math.log2(perplexity)
    text = loss * tokens
    return loss, text, text / words, math.exp(text / words)


@wrong("perplexity_per_word", "words and tokens exchanged")
def _(perplexity, tokens, words):
    loss = math.log(perplexity)
    text = loss * words
    return loss, text, text / tokens, math.exp(text / tokens)


def grams(text, n):
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


@right("chrf")
def _(said, wanted):
    said, wanted = said.replace(" ", ""), wanted.replace(" ", "")
    P = R = 0
    for n in range(1, 7):
        a, b = grams(said, n), grams(wanted, n)
        hits = sum((a & b).values())
        P += hits / max(sum(a.values()), 1) / 6
        R += hits / max(sum(b.values()), 1) / 6
    return 100 * 5 * P * R / (4 * P + R) if P + R else 0.0


@wrong("chrf", "the spaces left in")
def _(said, wanted):
    P = R = 0
    for n in range(1, 7):
        a, b = grams(said, n), grams(wanted, n)
        hits = sum((a & b).values())
        P += hits / sum(a.values()) / 6
        R += hits / sum(b.values()) / 6
    return 100 * 5 * P * R / (4 * P + R) if P + R else 0.0


@wrong("chrf", "an F for each length, then their mean")
def _(said, wanted):
    said, wanted = said.replace(" ", ""), wanted.replace(" ", "")
    total = 0
    for n in range(1, 7):
        a, b = grams(said, n), grams(wanted, n)
        hits = sum((a & b).values())
        if hits:
            p, r = hits / sum(a.values()), hits / sum(b.values())
            total += 5 * p * r / (4 * p + r)
    return 100 * total / 6


@wrong("chrf", "beta instead of its square")
def _(said, wanted):
    said, wanted = said.replace(" ", ""), wanted.replace(" ", "")
    P = R = 0
    for n in range(1, 7):
        a, b = grams(said, n), grams(wanted, n)
        hits = sum((a & b).values())
        P += hits / sum(a.values()) / 6
        R += hits / sum(b.values()) / 6
    return 100 * 3 * P * R / (2 * P + R) if P + R else 0.0
