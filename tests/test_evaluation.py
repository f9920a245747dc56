import math
from random import Random

import pytest
import sacrebleu
import torch
from torch import nn

from annotated_transformer.errors import InputError
from annotated_transformer.evaluation import Score, perplexity, score_translations, translate
from annotated_transformer.recipes import MODELS
from annotated_transformer.tokens import BOS, EOS, Vocabulary
from small_models import VOCAB, random_examples, small_model

EXAMPLES = random_examples(20)


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
    assert [perplexity(model, EXAMPLES, budget) for budget in (7, 60, 4096)] == [expected] * 3
    assert perplexity(model, EXAMPLES[::-1]) == expected
    assert model.training


def test_perplexity_of_knowing_nothing_is_the_vocabulary():
    class Uniform(nn.Module):
        def forward(self, src, tgt_in):
            return torch.zeros(*tgt_in.shape, VOCAB)

    assert perplexity(Uniform(), EXAMPLES) == pytest.approx(VOCAB)


def test_perplexity_of_nothing():
    with pytest.raises(InputError, match="there are 0 examples to evaluate on"):
        perplexity(small_model("seq2seq"), [])


class Copyist(nn.Module):
    """Repeats its source, and keeps account of how much it read at once."""

    def __init__(self, vocab):
        super().__init__()
        self.vocab, self.shapes = vocab, []

    def start(self, src):
        self.shapes.append(src.shape)
        return {"src": src, "at": torch.zeros(len(src), dtype=torch.long)}

    def step(self, state, token):
        said = state["src"].gather(1, state["at"][:, None])
        logits = torch.full((len(token), self.vocab), -30.0).scatter(1, said, 30.0)
        return logits, {"src": state["src"], "at": (state["at"] + 1) % state["src"].size(1)}


@pytest.mark.parametrize("beam_size", [1, 3])
def test_translations_come_in_the_order_of_the_texts(beam_size):
    random = Random(0)
    texts = [" ".join(random.choices("abcdefg", k=random.randrange(8))) for _ in range(40)]
    texts[3] = texts[17] = ""
    vocabulary = Vocabulary.words(texts)
    model = Copyist(len(vocabulary))
    found = translate(model, texts, vocabulary, vocabulary, beam_size, max_tokens=24)
    assert found == texts
    assert all(rows * width <= 24 for rows, width in model.shapes)
    assert len(model.shapes) < 30
    assert translate(model, [], vocabulary, vocabulary) == []
    assert translate(model, ["", " "], vocabulary, vocabulary, beam_size) == ["", ""]


def test_a_wrong_beam():
    vocabulary = Vocabulary.words(["a b"])
    with pytest.raises(InputError, match="beam_size is 0"):
        translate(Copyist(6), ["a"], vocabulary, vocabulary, beam_size=0)


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


def test_perfect_translations():
    assert [round(s.value, 6) for s in score_translations(REFERENCES, REFERENCES)] == [100.0] * 4


def test_a_score_in_words():
    assert str(Score("BLEU", 37.126, "nrefs:1|case:lc")) == "BLEU 37.13  nrefs:1|case:lc"
    assert str(Score("exact sentences", 50.0, "")) == "exact sentences 50.00"


@pytest.mark.parametrize(
    ("translations", "references"), [(["a"], []), ([], []), (["a"], ["a", "b"])]
)
def test_scores_need_a_reference_for_each_translation(translations, references):
    counts = f"{len(translations)} translations stand against {len(references)} references"
    with pytest.raises(InputError, match=counts):
        score_translations(translations, references)
