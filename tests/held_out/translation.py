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




@wrong("unfair_in", "all keys that differ, models and steps too")
def _(first, second):
    bad = {k for k in first if first[k] != second[k]}
    if first["chosen_on"] == "test" or second["chosen_on"] == "test":
        bad.add("chosen_on")
    return sorted(bad)




@right("next_merge")
def _(words):
    count = Counter()
    for word, n in words.items():
        for pair in zip(word, word[1:]):
            count[pair] += n
    return max(count, key=count.get)








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






