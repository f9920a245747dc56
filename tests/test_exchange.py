"""Models handed over: the programs of others compute with them what we compute."""

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import ctranslate2
import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import MarianMTModel
from typer.testing import CliRunner

from annotated_transformer.batches import Batch
from annotated_transformer.cli import app
from annotated_transformer.corpora import Corpus
from annotated_transformer.decoding import GREEDY, next_log_probs
from annotated_transformer.exchange import export_to_ctranslate2, export_to_marian, export_to_web
from annotated_transformer.ground.errors import InputError
from annotated_transformer.models import MODELS
from annotated_transformer.run import Recipe, Run
from annotated_transformer.run.checkpoint import save_checkpoint
from annotated_transformer.tokens import EOS, PAD, UNK
from annotated_transformer.transformer import TransformerConfig
from oracles import assert_close, randomise

ROOT = Path(__file__).resolve().parent.parent
PAIRS = [
    ("ein Hund rennt", "a dog runs"),
    ("ein Kind lacht", "a child laughs out loud"),
    ("der Hund, der lacht", "the dog that laughs"),
]
CORPUS = Corpus("letters", ("de", "en"), {"train": PAIRS, "val": PAIRS})
SIZES = {"d_model": 16, "num_layers": 2, "num_heads": 4, "d_ff": 24, "max_length": 80}


def made(folder: Path, model="transformer", *, subwords=60, **sizes) -> Run:
    """A run with random weights."""
    recipe = Recipe(model, "letters", subwords=subwords, sizes=sizes)
    run = Run.create(folder, recipe, CORPUS)
    fresh = randomise(recipe.make_model(run.vocabularies))
    save_checkpoint(run.weights, dict(fresh.named_parameters()))
    return run


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A run that knows its few sentences by heart, and gives no trivial translations."""
    run = made(tmp_path_factory.mktemp("learned") / "run", **SIZES, dropout=0.0)
    torch.manual_seed(0)
    model, batch = run.recipe.make_model(run.vocabularies), batch_of(run)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        logits = model(batch.src, batch.tgt_in)
        cross_entropy(logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=PAD).backward()
        optimizer.step()
        optimizer.zero_grad()
    save_checkpoint(run.weights, dict(model.named_parameters()))
    assert run.translate([src for src, _ in PAIRS], GREEDY) == [tgt for _, tgt in PAIRS]
    return run


TABLES = [
    {"subwords": 60, "share_embeddings": True},
    {"subwords": 60, "share_embeddings": True, "tie_output": False},
    {"subwords": 0, "activation": "swish"},
    {"subwords": 0, "tie_output": False},
]
"""One table of embeddings, two, or three; both activations."""


def batch_of(run: Run) -> Batch:
    return Batch.of(run.vocabularies.encode(PAIRS))


# --- Marian ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tables", TABLES)
def test_marian_gives_the_same_logits(tmp_path, tables):
    run = made(tmp_path / "run", **SIZES, **tables)
    export_to_marian(run, tmp_path / "marian")
    theirs, told = MarianMTModel.from_pretrained(tmp_path / "marian", output_loading_info=True)
    assert not any(told.values())
    batch = batch_of(run)
    with torch.inference_mode():
        found = theirs(
            batch.src, attention_mask=(batch.src != PAD).long(), decoder_input_ids=batch.tgt_in
        ).logits
        expected = run.model(batch.src, batch.tgt_in)
    is_word = batch.tgt_in != PAD
    assert_close(found[is_word], expected[is_word])
    assert expected.std() > 0.1


def run_the_readme(monkeypatch, text):
    """Run the code of the README that is here, and type this text."""
    [code] = re.findall(r"```python\n(.*?)```", Path("README.md").read_text("utf-8"), re.DOTALL)
    monkeypatch.setattr("builtins.input", lambda: text)
    exec(code, {})


def test_the_readme_of_marian_says_how_a_text_is_translated(tmp_path, learned, monkeypatch, capsys):
    export_to_marian(learned, tmp_path / "marian")
    monkeypatch.chdir(tmp_path / "marian")
    for text in [*(src for src, _ in PAIRS), "der Hund rennt", "ein <eos> <pad> rennt"]:
        run_the_readme(monkeypatch, text)
        assert capsys.readouterr().out.splitlines() == learned.translate([text], GREEDY)


@pytest.mark.parametrize("likely", [EOS, UNK])
def test_the_readme_of_marian_has_our_limits_and_our_unknown(tmp_path, likely, monkeypatch, capsys):
    run = made(tmp_path / "run", **SIZES | {"max_length": 24})
    with torch.no_grad():
        run.model.output.bias[EOS] = -1e9
        run.model.output.bias[likely] = 1e3
    save_checkpoint(run.weights, dict(run.model.named_parameters()))
    export_to_marian(run, tmp_path / "marian")
    monkeypatch.chdir(tmp_path / "marian")
    run_the_readme(monkeypatch, PAIRS[0][0])
    [said] = capsys.readouterr().out.splitlines()
    assert [said] == run.translate([PAIRS[0][0]], GREEDY)
    assert said == "<unk>" * (24 if likely == UNK else 0)


MARIAN, CT2 = "Marian", "CTranslate2"
EXPORTS = {MARIAN: export_to_marian, CT2: export_to_ctranslate2, "the laboratory": export_to_web}


@pytest.mark.parametrize(
    ("sizes", "wanted", "readers"),
    [
        ({"norm_position": "pre"}, "'post'", [MARIAN]),
        ({"norm": "rms"}, "'layer'", [MARIAN, CT2]),
        ({"positions": "learned"}, "'sinusoidal'", [MARIAN]),
        ({"num_kv_heads": 2}, "4", [MARIAN, CT2]),
        ({"d_k": 3}, "4", [MARIAN, CT2]),
        ({"d_v": 3}, "4", [MARIAN, CT2]),
        ({"d_model": 10, "d_k": 2, "d_v": 2}, "a multiple of num_heads, 4", [MARIAN]),
    ],
)
def test_what_others_cannot_compute_is_refused(tmp_path, sizes, wanted, readers):
    run, (name, value) = made(tmp_path / "run", **SIZES | sizes), next(iter(sizes.items()))
    for reader in readers:
        sentence = f"{name} is {value!r}, {reader} can only have {wanted}."
        with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
            EXPORTS[reader](run, tmp_path / "new")
        assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("model", sorted(MODELS.keys() - {"transformer"}))
def test_marian_is_no_recurrent_model(tmp_path, model):
    sizes = {} if model == "language" else {"hidden_dim": 6}
    run = made(tmp_path / "run", model, d_model=8, **sizes)
    with pytest.raises(InputError, match=f"model is '{model}', Marian can only have 'transformer'"):
        export_to_marian(run, tmp_path / "marian")


@dataclass(frozen=True)
class Windowed(TransformerConfig):
    """A Transformer with settings that no format knows."""

    window: int | None = None
    layers_of_experts: list[int] = field(default_factory=list)


@pytest.mark.parametrize(("reader", "export"), EXPORTS.items())
def test_a_setting_that_a_format_does_not_know_is_refused(tmp_path, monkeypatch, export, reader):
    windowed = MODELS["transformer"]._replace(config=Windowed)
    monkeypatch.setitem(MODELS, "transformer", windowed)
    export(made(tmp_path / "usual", **SIZES), tmp_path / "written")
    run = made(tmp_path / "run", **SIZES, window=3)
    with pytest.raises(InputError, match=f"^window is 3, {reader} can only have None\\.$"):
        export(run, tmp_path / "new")
    assert not (tmp_path / "new").exists()


# --- CTranslate2 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [*TABLES, {"norm_position": "pre"}, {"positions": "learned"}])
def test_ctranslate2_finds_the_same_log_probabilities(tmp_path, sizes):
    run = made(tmp_path / "run", **SIZES | sizes)
    export_to_ctranslate2(run, tmp_path / "ct2")
    batch, (src, tgt) = batch_of(run), run.vocabularies
    theirs = ctranslate2.Translator(str(tmp_path / "ct2")).score_batch(
        [src.tokens(src.encode(text)) for text, _ in PAIRS],
        [tgt.tokens(tgt.encode(text)) for _, text in PAIRS],
    )
    with torch.inference_mode():
        logits = run.model(batch.src, batch.tgt_in)
    rated = next_log_probs(logits.flatten(0, 1)).view_as(logits)
    for row, tokens, scored in zip(rated, batch.tgt_out, theirs, strict=True):
        length = len(scored.log_probs)
        assert length == (tokens != PAD).sum()
        expected = row.gather(1, tokens[:, None])[:length, 0]
        assert_close(torch.tensor(scored.log_probs), expected, 1e-4)
    assert rated[rated.isfinite()].std() > 0.1


def translated(folder: Path, text: str) -> list[str]:
    """The lines that the script in a folder makes of a text."""
    command = [sys.executable, folder / "translate.py"]
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=True)
    return done.stdout.splitlines()


def test_the_folder_of_ctranslate2_translates_a_text(tmp_path, learned):
    export_to_ctranslate2(learned, tmp_path / "ct2")
    lines = [*(src for src, _ in PAIRS), "", "  ein <eos> rennt ", "der Hund " * 20]
    found = translated(tmp_path / "ct2", "\n".join(lines) + "\n")
    assert found == learned.translate([line.strip() for line in lines], GREEDY)
    assert found[: len(PAIRS)] == [tgt for _, tgt in PAIRS]
    assert translated(tmp_path / "ct2", "") == []


def test_a_bad_line_costs_the_folder_of_ctranslate2_one_line(tmp_path, learned):
    export_to_ctranslate2(learned, tmp_path / "ct2")
    (first, second), *_ = PAIRS
    faulty = [b"\xff", b"der Hund " * 2000, "☃".encode(), b"   "]
    text = b"\n".join([first.encode(), *faulty, b"\xef\xbb\xbf" + first.encode()])
    command = [sys.executable, tmp_path / "ct2" / "translate.py"]
    done = subprocess.run(command, input=text, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == [second, "", "", "", "", second]
    said = "Line {} cannot be translated; its translation is empty."
    assert done.stderr.decode().splitlines() == [said.format(number) for number in (2, 3, 4)]


@pytest.mark.parametrize("likely", [-1e9, 9.0])
def test_a_translation_without_an_end_or_words_is_as_long_in_ctranslate2(tmp_path, likely):
    run = made(tmp_path / "run", **SIZES)
    with torch.no_grad():
        run.model.output.bias[EOS] = likely
    save_checkpoint(run.weights, dict(run.model.named_parameters()))
    export_to_ctranslate2(run, tmp_path / "ct2")
    lines = [src for src, _ in PAIRS] + ["ein Hund lacht" + " und lacht" * 9]
    found, expected = translated(tmp_path / "ct2", "\n".join(lines)), run.translate(lines, GREEDY)
    assert found == expected
    assert len({*map(len, expected)}) > 1 if likely < 0 else not any(expected)


def test_a_library_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    run = made(tmp_path / "run", **SIZES)
    with pytest.raises(
        InputError,
        match=r"^ctranslate2 is not installed: pip install 'annotated-transformer\[export\]'\.$",
    ):
        export_to_ctranslate2(run, tmp_path / "ct2")


@pytest.mark.slow
def test_ctranslate2_translates_a_thousand_sentences_as_we_do(multi30k, tmp_path):
    run = Run.open(ROOT / "checkpoints" / "multi30k-de-en")
    export_to_ctranslate2(run, tmp_path / "ct2")
    lines = [src for src, _ in multi30k.split("test_2016_flickr")]
    found = translated(tmp_path / "ct2", "\n".join(lines))
    assert len(found) == len(lines) == 1000
    assert found == run.translate(lines, GREEDY)


# --- the command line -----------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["ctranslate2", "marian"])
def test_the_command_hands_over(tmp_path, to):
    made(tmp_path / "run", **SIZES)
    folder = tmp_path / "out"
    result = CliRunner().invoke(app, ["export", str(tmp_path / "run"), "--to", to, str(folder)])
    assert re.match(r"Exported, 0\.\d MB of weights as 0\.\d MB\. ", result.stdout)
    assert result.stdout.endswith(f". {folder}/README.md says how to translate with it.\n")
    assert {"config.json", "README.md", "source.json"} <= {p.name for p in folder.iterdir()}
    result = CliRunner().invoke(app, ["export", str(tmp_path / "run"), "--to", to, str(folder)])
    assert result.stderr == f"Error: {folder} is not empty: choose another place.\n"
