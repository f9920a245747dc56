import math
from unicodedata import normalize

import pytest
import sacrebleu
import torch

from annotated_transformer.batches import Batch
from annotated_transformer.decoding import GREEDY, Search
from annotated_transformer.evaluation import (
    Score,
    alignment_errors,
    evaluate,
    perplexity,
    score_translations,
)
from annotated_transformer.ground.errors import DivergedError, InputError
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.models import MODELS
from annotated_transformer.tokens import BOS, EOS, Vocabularies, Vocabulary
from annotated_transformer.translation import translate
from small_models import random_examples, small_model

EXAMPLES = random_examples(8)


@pytest.mark.parametrize("name", MODELS)
def test_perplexity_token_by_token(name):
    model = small_model(name, dropout=0.5)
    surprise, count = 0.0, 0
    model.eval()
    for src, tgt in EXAMPLES:
        read, asked = [BOS, *tgt], [*tgt, EOS]
        for t, token in enumerate(asked):
            logits = model(torch.tensor([[*src, EOS]]), torch.tensor([read[: t + 1]]))[0, t]
            surprise -= math.log(logits.softmax(dim=-1)[token].item())
            count += 1
    model.train()
    expected = pytest.approx(math.exp(surprise / count), rel=1e-9)
    assert [perplexity(model, EXAMPLES[::-1], budget) for budget in (7, 4096)] == [expected] * 2
    assert model.training


def test_perplexity_of_a_sentence_that_the_model_cannot_read():
    model = small_model("transformer", max_length=9)
    for long in (([5] * 9, [6]), ([5], [6] * 9)):
        with pytest.raises(InputError, match=r"sentence 3 has 10 tokens .* the model takes 9"):
            perplexity(model, [*EXAMPLES[:2], long])
        assert perplexity(small_model("transformer", max_length=10), [long]) > 1


@pytest.mark.parametrize("bias", [float("nan"), 1e5])
def test_perplexity_of_a_model_that_came_apart(bias):
    model = small_model("seq2seq")
    with torch.no_grad():
        model.output.bias[5] = bias
    with pytest.raises(DivergedError, match=r"the mean negative log-likelihood is .* are brok"):
        perplexity(model, [([5], [6])])


def test_the_surprises_of_a_model_of_sixteen_bits_are_added_up_in_more():
    model, batch = small_model("transformer").bfloat16(), Batch.of(EXAMPLES)
    logits = model.eval()(*batch.inputs)
    total = smoothed_cross_entropy(logits.double(), batch.tgt_out).item()
    expected = math.exp(total / batch.num_tokens)
    assert perplexity(model, EXAMPLES) == pytest.approx(expected, rel=1e-6)


TRANSLATIONS = ["the dog runs over a meadow .", "Two cats sleep", "A man", "no"]
REFERENCES = ["The dog runs over the meadow .", "Two cats sleep", "a man sings", "yes, it is"]


def test_scores_equal_those_of_sacrebleu():
    cased, lower, chrf, exact = score_translations(TRANSLATIONS, REFERENCES)
    assert cased.value == sacrebleu.corpus_bleu(TRANSLATIONS, [REFERENCES]).score
    assert lower.value == sacrebleu.corpus_bleu(TRANSLATIONS, [REFERENCES], lowercase=True).score
    assert chrf.value == sacrebleu.corpus_chrf(TRANSLATIONS, [REFERENCES]).score
    assert exact.value == 25.0
    assert 0 < cased.value < lower.value < 100
    version = f"version:{sacrebleu.__version__}"
    assert cased.signature == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|{version}"
    assert lower.signature == f"nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|{version}"
    assert chrf.signature == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|{version}"


def test_a_letter_is_the_same_however_it_was_typed():
    """A vocabulary of subwords decodes to NFC; references may come in NFD, as from a Mac."""
    composed = ["나는 학생 이다 한국", "Übermut tut selten gut, sagte André"]
    apart = [normalize("NFD", text) for text in composed]
    assert apart != composed
    vocabulary = Vocabulary.subwords(apart, 100)
    assert [vocabulary.decode(vocabulary.encode(text)) for text in apart] == composed
    for translations, references in ((composed, apart), (apart, composed)):
        scores = score_translations(translations, references)
        assert [round(score.value, 6) for score in scores] == [100.0] * 4


def test_a_score_in_words():
    assert str(Score("BLEU", 37.126, "nrefs:1|case:lc")) == "BLEU 37.13  nrefs:1|case:lc"
    assert str(Score("exact sentences", 50.0, "")) == "exact sentences 50.00"


def test_scores_need_a_reference_for_each_translation():
    for translations, references in ((["a"], []), ([], []), (["a"], ["a", "b"])):
        counts = f"{len(translations)} translations for {len(references)} references"
        with pytest.raises(InputError, match=counts):
            score_translations(translations, references)


TEXTS = [("a b c", "x y"), ("c c a", "z"), ("b", "y z x x"), ("d a", "w y")]
GOLD = [frozenset({(0, 0), (2, 1)}), frozenset({(1, 0)}), frozenset({(0, 3)}), frozenset({(1, 1)})]


def test_all_that_is_said_about_a_model_is_said_by_its_parts():
    vocabularies, search = Vocabularies.learn(TEXTS, subwords=0), Search(beam=3)
    model = small_model("transformer", max(map(len, vocabularies)))
    sources, references = zip(*TEXTS, strict=True)
    found = score_translations(translate(model, sources, vocabularies, search), references)
    examples = vocabularies.encode(TEXTS)
    plain, aligned = (evaluate(model, vocabularies, TEXTS, search, gold) for gold in (None, GOLD))
    assert plain == aligned[:5] == [*found, aligned[4]]
    assert aligned[4].value == perplexity(model, examples)
    assert str(aligned[4]).endswith("teacher-forced, per target token")
    errors = alignment_errors(model, examples, GOLD)
    assert [(s.value, s.signature.split(",")[0]) for s in aligned[5:]] == [
        (errors[name], name) for name in ("decoder.0.cross_attention", "decoder.1.cross_attention")
    ]


def test_nothing_to_evaluate_on():
    vocabularies = Vocabularies.learn(TEXTS, subwords=0)
    with pytest.raises(InputError, match="0 translations for 0 references"):
        evaluate(small_model("seq2seq"), vocabularies, [], GREEDY)


@pytest.mark.parametrize(
    ("text", "tokenizer"),
    [
        ("我喜欢吃苹果。", "zh"),
        ("私は学生です。", "char"),
        ("ผมเป็นนักเรียน", "char"),
        ("Ein Hund (犬) läuft.", "13a"),
        ("123 !?", "13a"),
    ],
)
def test_a_script_without_spaces_has_a_tokenizer_that_needs_none(text, tokenizer):
    scores = score_translations([text], [text])
    if tokenizer != "13a":
        assert scores[0].value == pytest.approx(100)
    assert f"tok:{tokenizer}|" in scores[0].signature.replace("ja-mecab", "char")
