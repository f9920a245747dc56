import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from transformers import MinPLogitsWarper
from typer.testing import CliRunner

from annotated_transformer.cli import app
from annotated_transformer.corpora import Corpus
from annotated_transformer.decoding import Search, decode, draw, greedy
from annotated_transformer.evaluation import perplexity
from annotated_transformer.exchange import load_model
from annotated_transformer.ground.errors import InputError
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.linear_attention import LinearAttention
from annotated_transformer.paged_cache import PagedCache
from annotated_transformer.run import Recipe, Run, train
from annotated_transformer.run.checkpoint import save_checkpoint
from annotated_transformer.speculative import speculate
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.translator import evaluating, require_positions
from oracles import assert_close, randomise
from test_real_weights import gpt2

SIZES = {"d_model": 16, "num_layers": 2, "num_heads": 4, "d_ff": 24, "dropout": 0.0}
SRC = torch.tensor([[5, 6, 7, 8, EOS], [5, 6, EOS, PAD, PAD]])
TGT = torch.tensor([[BOS, 6, 7, PAD], [BOS, 6, 7, 8]])


def small(**changes):
    settings = SIZES | {"src_vocab": 11, "tgt_vocab": 13, "norm_position": "pre"} | changes
    config = LanguageModelConfig(**settings)
    return randomise(LanguageModel(config)).double().eval()


def hybrid():
    model = small()
    model.decoder[0].self_attention = randomise(LinearAttention(16, 4)).double()
    return model


KINDS = {"causal": small, "prefix": partial(small, prefix_mask=True), "hybrid": hybrid}
of_every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


@torch.no_grad()
def test_it_generates_what_gpt2_generates(tmp_path):
    theirs, ours = gpt2(tmp_path), load_model(tmp_path).double()
    prompt = torch.tensor([[1, 5, 6, 7]])
    expected = theirs.generate(
        prompt - 1, max_new_tokens=8, do_sample=False, eos_token_id=None, pad_token_id=0,
        attention_mask=torch.ones_like(prompt),
    )  # fmt: skip
    logits, state = ours.extend(ours.empty(1), prompt)
    ids = prompt[0].tolist()
    for _ in range(8):
        ids.append(int(logits[0, -1].argmax()))
        logits, state = ours.extend(state, torch.tensor([[ids[-1]]]))
    assert ids == (expected[0] + 1).tolist()


@of_every_kind
@torch.no_grad()
def test_token_by_token_is_the_whole_at_once_and_the_other_sentences_change_nothing(make):
    model = make()
    whole, state = model(SRC, TGT), model.start(SRC)
    for t in range(TGT.size(1)):
        logits, state = model.step(state, TGT[:, t])
        real = TGT[:, t] != PAD
        assert_close(logits[real], whole[real, t])
    left = torch.tensor([[PAD, PAD, 5, 6, EOS]])
    for src in (SRC[1:, :3], left):
        assert_close(model(src, TGT[1:])[0], whole[1])


@torch.no_grad()
def test_source_and_target_are_one_text():
    model = small(share_embeddings=True, tgt_vocab=11)
    text = torch.cat([SRC[:1], TGT[:1, :3]], dim=1)
    assert_close(model(SRC[:1], TGT[:1, :3]), model(text)[:, SRC.size(1) :])


@of_every_kind
@torch.no_grad()
def test_no_token_sees_a_later_one_unless_the_source_may(make):
    model, later = make(), SRC.clone()
    later[0, 3] = 9
    first, second = (model.start(src).past[1].keys[0, :, :3] for src in (SRC, later))
    assert torch.allclose(first, second, rtol=0, atol=1e-12) != model.config.prefix_mask
    changed = TGT.clone()
    changed[0, 2] = 9
    assert_close(model(SRC, TGT)[:, :2], model(SRC, changed)[:, :2])


def test_a_hybrid_drafts_and_is_drafted_for_but_has_no_pages():
    model, src = hybrid(), SRC[:1]
    (alone,) = greedy(model, src, Search(extra_length=6))
    for draft in (small(), model):
        assert speculate(model, draft, src, extra_length=6).tokens == alone.tokens
    with pytest.raises(InputError, match="a layer keeps a Summary: pages hold keys and values"):
        PagedCache(model, 3, 4)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_ends_where_the_positions_of_source_and_target_do(beam):
    model = small(max_length=9)
    model.output.bias.data[EOS] = -torch.inf  # it never ends by itself
    src = torch.tensor([[5, 6, 7, 8, EOS], [5, 6, EOS, PAD, PAD]])
    found = decode(model, src, Search(beam=beam, extra_length=9))
    assert [len(best.tokens) for best, *_ in found] == [4, 6]


def test_examples_that_are_too_long_as_one_text_are_refused():
    lengths = np.array([[3, 2], [4, 4]])
    require_positions(small(max_length=10), lengths)
    with pytest.raises(InputError, match=r"sentence 2 has 10 tokens .* the model takes 9"):
        require_positions(small(max_length=9), lengths)


LETTERS = "abcdefgh"
TEXTS = [(" ".join(LETTERS[i : i + n]),) for n in range(2, 6) for i in range(8 - n)]
CORPUS = Corpus("letters", ("a",), {"train": TEXTS, "val": TEXTS[::3], "test": TEXTS[::4]})


RECIPE = Recipe(
    "language", "letters", steps=6, batch_tokens=40, validate_every=3, warmup=2,
    sizes={"d_model": 8, "num_layers": 1, "num_heads": 2, "d_ff": 8, "dropout": 0.2},
)  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("language") / "run"
    run = Run.create(folder, RECIPE, CORPUS)
    assert train(run, CORPUS) is None
    return Run.open(folder)


def test_a_training_on_text_alone_goes_on_where_it_was_interrupted(trained, tmp_path):
    first = Run.create(tmp_path / "run", replace(RECIPE, steps=3), CORPUS)
    train(first, CORPUS)
    train(first.with_recipe(replace(first.recipe, steps=6)), CORPUS)
    ours, theirs = (run.model.state_dict() for run in (Run.open(tmp_path / "run"), trained))
    assert all(torch.equal(ours[name], tensor) for name, tensor in theirs.items())


def test_a_model_of_text_alone_has_one_score_and_no_source(trained):
    [score] = trained.evaluate(CORPUS, "test")
    examples = trained.vocabularies.encode(CORPUS.split("test"))
    assert (score.name, score.value) == ("perplexity", perplexity(trained.model, examples))
    assert trained.model.src_embedding is trained.model.tgt_embedding
    with pytest.raises(InputError, match="has_source is False: the model continues a text"):
        trained.translate(["a b"])


def test_a_text_is_continued_as_the_model_predicts_it(trained):
    [text] = trained.continue_text("c d", Search(), length=4)
    ids = [BOS, *trained.vocabularies.tgt.encode("c d")]
    model = trained.model
    with evaluating(model):
        while len(ids) < 7:
            logits = model(torch.tensor([ids]))[0, -1]
            logits[[PAD, BOS]] = -math.inf
            ids.append(int(logits.argmax()))
    said = ids[1:] if EOS not in ids else ids[1 : ids.index(EOS)]
    assert text == trained.vocabularies.tgt.decode(said)
    with pytest.raises(InputError, match=r"the prompt is 'c z', .* it does not know 'z'\."):
        trained.continue_text("c z", Search(), length=4)


def test_a_run_of_pairs_does_not_continue_a_text(tmp_path):
    pairs = [(text, text) for (text,) in TEXTS]
    corpus = Corpus("pairs", ("a", "b"), {"train": pairs, "val": pairs[::3]})
    run = Run.create(tmp_path / "run", replace(RECIPE, corpus="pairs"), corpus)
    save_checkpoint(run.weights, dict(RECIPE.make_model(run.vocabularies).named_parameters()))
    with pytest.raises(InputError, match="was trained on pairs, it translates: to continue"):
        run.continue_text("a", Search(), length=3)


def test_the_command_line_trains_on_one_language_and_continues_a_prompt(tmp_path):
    for split in ("train", "val", "test"):
        lines = "\n".join(text for (text,) in CORPUS.split(split))
        (tmp_path / f"{split}.en").write_text(lines + "\n")

    def call(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    sizes = ["--set", "d_model=8", "--set", "num_layers=1", "--set", "num_heads=2"]
    made = call(
        "train", "--model", "language", "--corpus", tmp_path, "--languages", "en", "--recipe",
        "tiny", "--steps", 2, *sizes, "--out", tmp_path / "run",
    )  # fmt: skip
    assert "Trained. Try: annotated-transformer generate" in made.stdout
    texts = call("generate", tmp_path / "run", "a b", "--sample", "--best", 3, "--min-p", 0.01)
    assert [line[:3] for line in texts.stdout.splitlines()] == ["a b"] * 3
    assert call("generate", tmp_path / "run", "a z").exit_code == 2


@pytest.mark.parametrize("min_p", [0.05, 0.5])
def test_min_p_keeps_the_tokens_that_hugging_face_keeps(min_p):
    logits = 3 * torch.randn(4, 30).double()
    kept = MinPLogitsWarper(min_p)(None, logits.clone()).isfinite()
    search = Search(sample=True, min_p=min_p)
    for number in torch.linspace(0, 0.999, 300):
        assert kept.gather(1, draw(logits, search, number.expand(4))[:, None]).all()
    most = draw(logits, search, torch.full((4,), 1 - 1e-9, dtype=torch.float64))
    assert torch.equal(most, logits.masked_fill(~kept, math.inf).argmin(dim=1))
