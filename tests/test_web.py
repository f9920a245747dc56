"""A run for the web: two files, whole or not at all."""

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close
from typer.testing import CliRunner

from annotated_transformer.cli import app
from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.decoding import Search
from annotated_transformer.exchange import export_to_web, to_web
from annotated_transformer.exchange.eight_bits import quantised, restored
from annotated_transformer.exchange.to_web import KNOWN, tokens_and_merges
from annotated_transformer.ground.errors import InputError
from annotated_transformer.models import MODELS
from annotated_transformer.run import PRESETS, Recipe, Run, preset
from annotated_transformer.run.checkpoint import save_checkpoint
from annotated_transformer.tokens import Vocabulary
from annotated_transformer.toy import toy_corpus

PAIRS = [("a b c", "x y"), ("b c", "y"), ("c a", "y x z")]
CORPUS = Corpus("letters", ("en", "ko"), {"train": PAIRS, "val": PAIRS})
RECURRENT = {"d_model": 8, "hidden_dim": 6}
TRANSFORMER = {"d_model": 8, "num_layers": 1, "num_heads": 2, "d_ff": 8}
SIZES = dict.fromkeys(MODELS, RECURRENT) | dict.fromkeys(("transformer", "language"), TRANSFORMER)


def made(folder: Path, model: str = "seq2seq", sizes=None, corpus="letters", **settings) -> Run:
    """A run with random weights."""
    recipe = Recipe(model, corpus, sizes=sizes or SIZES[model], **settings)
    run = Run.create(folder, recipe, CORPUS)
    fresh = recipe.make_model(run.vocabularies)
    save_checkpoint(run.weights, dict(fresh.named_parameters()))
    return run


def described(folder: Path):
    return json.loads((folder / "model.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("model", KNOWN)
def test_the_folder_has_weights_and_their_description(tmp_path, model):
    run = made(tmp_path / "run", model, search=Search(beam=3, alpha=0.5, extra_length=7))
    export_to_web(run, tmp_path / "web")
    assert {p.name for p in (tmp_path / "web").iterdir()} == {"model.json", "model.safetensors"}
    found = described(tmp_path / "web")
    assert (found["format"], found["model"]) == (1, model)
    assert found["search"] == {"beam": 3, "alpha": 0.5, "extra_length": 7}
    assert found["src"] == {
        "kind": "words", "tokens": run.vocabularies.src.tokens(range(7))
    }  # fmt: skip
    assert found["tgt"]["tokens"] == run.vocabularies.tgt.tokens(range(7))
    modes = {path.stat().st_mode for path in (tmp_path / "web").iterdir()}
    assert len(modes) == 1
    config = run.recipe.make_config(7, 7)
    assert all(
        v == getattr(config, k) for k, v in found["config"].items() if k[:2] not in {"d_", "nu"}
    )
    assert "sentences" not in found
    stored = load_file(tmp_path / "web" / "model.safetensors")
    wanted = dict(run.model.named_parameters())
    assert stored.keys() == wanted.keys()
    assert all(torch.equal(tensor, wanted[name].half()) for name, tensor in stored.items())


@pytest.mark.parametrize("model", MODELS)
def test_every_setting_of_every_model_is_supported(model):
    assert {field.name for field in fields(MODELS[model].config)} == KNOWN[model].keys()


@pytest.mark.parametrize("name", PRESETS)
def test_every_recipe_is_exported_whose_model_is_not_too_large(name):
    for model in [key for key, kind in MODELS.items() if name in kind.sizes]:
        recipe = preset(model, "toy" if name in ("tiny", "modern") else "letters", name)
        found = to_web.resolved(model, recipe.make_config(9, 9))
        assert None not in found.values()


def test_how_a_run_samples_is_left_to_the_page(tmp_path):
    search = Search(sample=True, top_k=3, temperature=0.5)
    export_to_web(made(tmp_path / "run", search=search), tmp_path / "web")
    assert described(tmp_path / "web")["search"]["beam"] == 1


def test_a_run_of_one_language_has_no_pairs_to_draw(tmp_path):
    recipe = preset("language", "toy", languages="ko", sizes=TRANSFORMER)
    found = to_web.describe(Run.create(tmp_path / "run", recipe, load_corpus("toy", "ko")))
    assert found["config"]["has_source"] is False
    assert "sentences" not in found


def test_what_follows_from_other_sizes_is_written_out(tmp_path):
    export_to_web(made(tmp_path / "run", "transformer"), tmp_path / "web")
    config = described(tmp_path / "web")["config"]
    assert (config["d_k"], config["d_v"], config["num_kv_heads"]) == (4, 4, 2)
    sizes = SIZES["transformer"] | {"d_k": 3, "d_v": 5, "num_kv_heads": 1}
    export_to_web(made(tmp_path / "other", "transformer", sizes), tmp_path / "wide")
    config = described(tmp_path / "wide")["config"]
    assert (config["d_k"], config["d_v"], config["num_kv_heads"]) == (3, 5, 1)


def test_the_same_run_gives_the_same_files_in_every_process(tmp_path):
    """A site has their digests in its pages, which several processes may have written."""
    run = made(tmp_path / "run", "transformer")
    arguments = ["export", str(run.folder), "--to", "web", "--precision", "int8"]
    for name in ("one", "other"):
        program = "from annotated_transformer.cli import main; main()"
        subprocess.run(
            [sys.executable, "-c", program, *arguments, str(tmp_path / name)],
            check=True, capture_output=True,
        )  # fmt: skip
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "other" / path.name).read_bytes()


def test_a_joint_vocabulary_is_written_once(tmp_path):
    export_to_web(made(tmp_path / "run", subwords=20), tmp_path / "web")
    found = described(tmp_path / "web")
    assert found["tgt"] == "src"
    assert found["src"]["kind"] == "subwords"
    tokens = found["src"]["tokens"]
    assert all(a in tokens and b in tokens and a + b in tokens for a, b in found["src"]["merges"])


def test_subwords_have_no_glosses_and_no_links(tmp_path):
    run = Run.create(tmp_path / "run", preset("luong", "toy", subwords=300), load_corpus("toy"))
    assert "sentences" not in to_web.describe(run)


def test_the_toy_corpus_brings_glosses_and_gold_alignments(tmp_path, monkeypatch):
    splits = toy_corpus(2000)
    monkeypatch.setattr(to_web, "toy_corpus", lambda: splits)
    export_to_web(made(tmp_path / "run", corpus="toy"), tmp_path / "web")
    found = described(tmp_path / "web")
    assert len(found["sentences"]) == to_web.SENTENCES
    for mine, pair in zip(found["sentences"], splits["test"], strict=True):
        assert (mine["src"], mine["tgt"]) == (list(pair.src), list(pair.tgt))
        assert {tuple(link) for link in mine["links"]} == pair.alignment
        assert all(token in found["gloss"] for token in pair.tgt)
    assert found["gloss"]["나"] == "I"
    grammar = found["grammar"]
    assert grammar["pronouns"]["그녀"] == ["she", "her", "singular"]
    assert grammar["verbs"]["보"] == {"english": "see", "third": "sees", "pattern": "transitive"}
    assert set(grammar["senses"]["는"]) == {"TOPIC", "ADNOMINAL"}
    known = {gloss for glosses in grammar["senses"].values() for gloss in glosses}
    assert all(set(pair.gloss) <= known for pair in splits["test"])


def test_what_a_page_cannot_compute_with_is_refused(tmp_path):
    run = made(tmp_path / "run", sizes=RECURRENT | {"hidden_dim": 1300})
    with pytest.raises(InputError, match="34,000,694 bytes in float16, a page opens at most 30,0"):
        export_to_web(run, tmp_path / "web")
    assert {path.name for path in tmp_path.iterdir()} == {"run"}
    export_to_web(run, tmp_path / "web", "int8")
    with pytest.raises(InputError, match="precision is 'int4', it must be one of float16, int8"):
        export_to_web(run, tmp_path / "other", "int4")


def test_a_run_without_weights_is_refused(tmp_path):
    run = made(tmp_path / "run")
    run.weights.unlink()
    with pytest.raises(InputError, match="has not saved it yet"):
        export_to_web(run, tmp_path / "web")
    assert not (tmp_path / "web").exists()


def test_on_a_full_disk_nothing_is_left(tmp_path, monkeypatch):
    run = made(tmp_path / "run")

    def full(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"web could not be written \(No space left"):
        export_to_web(run, tmp_path / "web")
    assert {path.name for path in tmp_path.iterdir()} == {"run"}


def test_a_vocabulary_of_another_kind_is_refused():
    class Other(Vocabulary):
        def to_json(self):
            return super().to_json().replace('"WordLevel"', '"Other"')

    other = Other.words(["a"])
    with pytest.raises(InputError, match="is of the kind Other, it must be WordLevel or BPE"):
        tokens_and_merges(other)


def test_the_command_exports_a_run_to_translate_with_or_to_the_web(tmp_path):
    made(tmp_path / "run")
    for to, names in (
        ([], {"recipe.json", "vocabulary.src.json", "vocabulary.tgt.json", "model.safetensors"}),
        (["--to", "web"], {"model.json", "model.safetensors"}),
    ):
        folder = tmp_path / "-".join(["out", *to])
        result = CliRunner().invoke(app, ["export", str(tmp_path / "run"), *to, str(folder)])
        assert result.exit_code == 0
        assert result.stdout.startswith("Exported, 0.0 MB of weights as 0.0 MB.")
        assert {path.name for path in folder.iterdir()} == names


def test_the_command_exports_8_bits_to_the_web_alone(tmp_path):
    run = made(tmp_path / "run", sizes=RECURRENT | {"hidden_dim": 200})
    arguments = ["export", str(run.folder), str(tmp_path / "out"), "--precision", "int8"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "Error: precision is 'int8', without --to web it must be float16." in result.output
    result = CliRunner().invoke(app, [*arguments, "--to", "web"])
    assert result.exit_code == 0
    before, after = run.weights, tmp_path / "out" / "model.safetensors"
    told = [float(size) for size in re.findall(r"([\d.]+) MB", result.stdout)]
    whole = sum(path.stat().st_size for path in after.parent.iterdir())
    assert told == [round(before.stat().st_size / 1e6, 1), round(whole / 1e6, 1)]
    assert after.stat().st_size < before.stat().st_size / 3.5


@pytest.mark.parametrize("model", KNOWN)
def test_in_8_bits_a_number_is_off_by_half_a_step_of_its_row_at_most(tmp_path, model):
    run = made(tmp_path / "run", model)
    export_to_web(run, tmp_path / "web", "int8")
    stored = load_file(tmp_path / "web" / "model.safetensors")
    found, wanted = restored(stored), dict(run.model.named_parameters())
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        if tensor.dim() < 2:
            assert torch.equal(found[name], tensor.half().float())
            assert stored[name].dtype == torch.float16
            continue
        step = tensor.abs().amax(dim=1, keepdim=True) / 127
        assert stored[name].dtype == torch.int8
        assert ((found[name] - tensor).abs() <= step * 0.5001).all()
        largest = tensor.abs() == tensor.abs().amax(dim=1, keepdim=True)
        assert_close(found[name][largest], tensor[largest])


def test_what_is_tied_is_written_once_in_8_bits(tmp_path):
    sizes = TRANSFORMER | {"share_embeddings": True, "tie_output": True}
    run = made(tmp_path / "run", "transformer", sizes, subwords=20)
    export_to_web(run, tmp_path / "web", "int8")
    stored = load_file(tmp_path / "web" / "model.safetensors")
    tokens = {name for name in stored if "embedding" in name or name.startswith("output.weight")}
    assert tokens == {"tgt_embedding.tokens.weight", "tgt_embedding.tokens.weight.scale"}


def test_8_bits_agree_with_those_of_pytorch():
    matrix = torch.randn(50, 30) * torch.logspace(-6, 6, 50)[:, None]
    found = quantised({"m": matrix})
    zeros = torch.zeros(50, dtype=torch.int32)
    wanted = torch.fake_quantize_per_channel_affine(matrix, found["m.scale"], zeros, 0, -127, 127)
    assert_close(restored(found)["m"], wanted)
    assert (found["m"].abs().amax(dim=1) == 127).all()


def test_rows_of_zeros_and_of_tiny_numbers_are_zeros_and_others_are_refused():
    matrix = torch.tensor([[0.0, 0.0], [1e-45, 0.0], [1e30, -1e30]])
    found = restored(quantised({"m": matrix}))["m"]
    assert torch.equal(found[:2], torch.zeros(2, 2))
    assert_close(found[2], matrix[2])
    for number in (torch.inf, torch.nan):
        with pytest.raises(InputError, match=r"^m has a number that is not finite"):
            quantised({"m": torch.tensor([[1.0, number]])})
    with pytest.raises(InputError, match=r"^v has numbers up to 7e\+04"):
        quantised({"v": torch.tensor([7e4])})
