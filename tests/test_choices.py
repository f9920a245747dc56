"""What every name in a table of the package promises, whoever added it."""

from typing import Any

import pytest

from annotated_transformer.bahdanau import Bahdanau
from annotated_transformer.cli.formats import EXPORTS
from annotated_transformer.corpora import CORPORA, Corpus
from annotated_transformer.evaluation import METRICS
from annotated_transformer.ground.errors import InputError
from annotated_transformer.models import MODELS, ModelKind
from annotated_transformer.run import PRESETS, Recipe, Run, preset, train
from annotated_transformer.run.checkpoint import save_checkpoint
from annotated_transformer.seq2seq import RecurrentConfig
from oracles import randomise
from small_models import CHOICES

PAIRS = [(f"{a} {b}", f"{b} {a}") for a in "abcd" for b in "efgh"]
CORPUS = Corpus("letters", ("de", "en"), {"train": PAIRS, "val": PAIRS[:4]})
SMALL = {"d_model": 8, "hidden_dim": 6}
STACK = {"d_model": 8, "num_layers": 1, "num_heads": 2, "d_ff": 8, "max_length": 32}


def refusal(export, run, folder):
    """What an export says that it cannot write, or nothing."""
    try:
        export(run, folder)
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_is_exported_or_refused_by_its_name(choice, tmp_path):
    model, chosen = CHOICES[choice]
    sizes: dict[str, Any] = STACK if model in ("transformer", "language") else SMALL
    recipe = Recipe(model, CORPUS.name, subwords=30, sizes=sizes | chosen)
    run = Run.create(tmp_path / "made", recipe, CORPUS)
    fresh = randomise(run.recipe.make_model(run.vocabularies))
    save_checkpoint(run.weights, dict(fresh.named_parameters()))
    for name, (export, _) in EXPORTS.items():
        told = refusal(export, run, tmp_path / name)
        assert (told is None) == (tmp_path / name).exists()
        assert told is None or told.partition(" is ")[0] in ("model", *chosen), told


def test_a_model_with_a_line_in_the_table_is_trained_without_another_line(tmp_path, monkeypatch):
    class Mine(Bahdanau):
        pass

    monkeypatch.setitem(MODELS, "mine", ModelKind(Mine, RecurrentConfig))
    with pytest.raises(InputError, match=r"^model is 'mine', it must be one of transformer\.$"):
        preset("mine", "toy", "base")
    recipe = preset("mine", CORPUS.name, "tiny", steps=1)
    run = Run.create(tmp_path / "run", recipe, CORPUS)
    train(run, CORPUS)
    assert type(Run.open(run.folder).model) is Mine
    for name in EXPORTS.keys() - {"run"}:
        with pytest.raises(InputError, match=r"^model is 'mine', "):
            EXPORTS[name][0](run, tmp_path / name)


@pytest.mark.parametrize("metric", METRICS)
def test_no_translation_has_a_higher_score_than_the_reference(metric):
    references = ["the small cat sees a dog", "a dog that sleeps is happy"]
    scored = METRICS[metric]("13a").corpus_score
    best, other = scored(references, [references]), scored(references[::-1], [references])
    assert best.score == pytest.approx(100)
    assert other.score < 50


def test_no_two_metrics_are_the_same():
    made = [metric("13a") for metric in METRICS.values()]
    for metric in made:
        metric.corpus_score(["a cat"], [["a dog"]])
    signatures = [(type(metric), str(metric.get_signature())) for metric in made]
    assert len({*signatures}) == len(METRICS)


def test_the_recipe_of_every_corpus_exists():
    assert {corpus.recipe for corpus in CORPORA.values()} <= PRESETS.keys()
