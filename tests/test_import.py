"""Models that others published: with our classes they compute what they compute with theirs."""

import io
import json
import shutil
import warnings
from pathlib import Path
from unicodedata import normalize

import pytest
import sentencepiece
import torch
from safetensors.torch import save_file
from transformers import MarianConfig, MarianMTModel, MarianTokenizer
from typer.testing import CliRunner

from annotated_transformer.batches import pad
from annotated_transformer.cli import app
from annotated_transformer.corpora import Corpus
from annotated_transformer.decoding import GREEDY
from annotated_transformer.exchange import (
    export_to_ctranslate2,
    export_to_marian,
    import_marian,
)
from annotated_transformer.exchange.from_marian import TABLES, with_every_name
from annotated_transformer.exchange.marian_files import read_settings
from annotated_transformer.exchange.model_files import WITHOUT
from annotated_transformer.ground.errors import InputError
from annotated_transformer.run import LineTranslator, Recipe, Run, train
from annotated_transformer.run.sentence_pieces import SentencePieces, vocabulary_of_json
from annotated_transformer.tokens import BOS, EOS, PAD, SPECIALS, UNK, Vocabularies, Vocabulary
from annotated_transformer.toy import toy_corpus
from oracles import assert_close, randomise
from test_exchange import run_the_readme
from test_real_weights import hostile, keys_of

PAIRS = [
    (" ".join(pair.src), normalize("NFKC", " ".join(pair.tgt)))  # as SentencePiece writes Korean
    for pair in toy_corpus()["train"][:300]
]
TEXTS = [src for src, _ in PAIRS[:4]]
SIZES = {
    "d_model": 16, "max_position_embeddings": 90, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24, "dropout": 0.0, "attention_dropout": 0.0,
}  # fmt: skip


def pieces_of(folder: Path, side: str, texts: list[str]) -> list[str]:
    """Train a model of SentencePiece into a folder; give its pieces."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=written, vocab_size=200, minloglevel=2,
        character_coverage=1.0, hard_vocab_limit=False,
    )  # fmt: skip
    (folder / f"{side}.spm").write_bytes(written.getvalue())
    model = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    return [model.id_to_piece(i) for i in range(3, len(model))]


def numbered(pieces: list[str]) -> dict[str, int]:
    """Every token with its number, in the order in which OPUS-MT has them."""
    return {t: i for i, t in enumerate(["</s>", "<unk>", *dict.fromkeys(pieces), "<pad>"])}


@pytest.fixture(scope="module")
def texts_folder(tmp_path_factory) -> Path:
    """What cuts the texts: two models, one vocabulary for both, and one for each."""
    folder = tmp_path_factory.mktemp("texts")
    src = pieces_of(folder, "source", [src for src, _ in PAIRS])
    tgt = pieces_of(folder, "target", [tgt for _, tgt in PAIRS])
    (folder / "joint.json").write_text(json.dumps(numbered([">>kor<<", *src, *tgt])))
    # As many of either, for the special tokens to have the same numbers.
    width = max(len(src), len(tgt))
    for name, pieces in (("source.json", src), ("target.json", tgt)):
        filled = [*pieces, *(f"unused{i}" for i in range(width - len(pieces)))]
        (folder / name).write_text(json.dumps(numbered(filled)))
    return folder


def published(
    folder: Path,
    texts: Path,
    *,
    joint=True,
    binary=False,
    fresh=False,
    dtype=torch.float32,
    **settings,
) -> MarianMTModel:
    """Let Hugging Face's classes write a small random model, as OPUS-MT is published."""
    folder.mkdir()
    for name in ("source.spm", "target.spm"):
        shutil.copy(texts / name, folder)
    shutil.copy(texts / ("joint.json" if joint else "source.json"), folder / "vocab.json")
    if not joint:
        shutil.copy(texts / "target.json", folder / "target_vocab.json")
    size = len(json.loads((folder / "vocab.json").read_text()))
    defaults = {"activation_function": "swish", "scale_embedding": True}
    config = MarianConfig(
        vocab_size=size, pad_token_id=size - 1, decoder_start_token_id=size - 1, eos_token_id=0,
        forced_eos_token_id=None, share_encoder_decoder_embeddings=joint,
        **SIZES | defaults | settings,
    )  # fmt: skip
    model = MarianMTModel(config).eval()
    if not fresh:
        randomise(model)
    model.final_logits_bias.normal_()
    tables = [half.embed_positions for half in (model.model.encoder, model.model.decoder)]
    exact = [table.weight.detach().clone() for table in tables]
    model.to(dtype)  # as many bits as are stored; the positions are not, each reader computes them
    for table, weight in zip(tables, exact, strict=True):
        table.weight.data = weight
    if binary:
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
        config.save_pretrained(folder)
    else:
        model.save_pretrained(folder)
    return model


def tokenizer_of(folder: Path) -> MarianTokenizer:
    target = folder / "target_vocab.json"
    with pytest.warns(UserWarning, match="pip install sacremoses"):
        return MarianTokenizer(
            str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json"),
            target_vocab_file=str(target) if target.exists() else None,
            separate_vocabs=target.exists(),
        )  # fmt: skip


def numbers_of(vocabulary: Vocabulary, listed: Path) -> list[int]:
    """For each of their numbers, ours."""
    names = {"<pad>": PAD, "</s>": EOS, "<unk>": UNK}
    ours = {
        t: i for i, t in enumerate(vocabulary.tokens(range(len(vocabulary)))) if i >= len(SPECIALS)
    }
    theirs = sorted(json.loads(listed.read_text()).items(), key=lambda item: item[1])
    return [(names | ours)[token] for token, _ in theirs]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"activation_function": "relu"},
        {"scale_embedding": False},
        {"tie_word_embeddings": False},
        {"joint": False, "tie_word_embeddings": False, "activation_function": "relu"},
        {"joint": False, "binary": True, "scale_embedding": False},
        {"dtype": torch.float16},
        {"activation_function": "gelu"},
    ],
)
def test_logits_are_those_of_hugging_face(tmp_path, texts_folder, settings):
    theirs = published(tmp_path / "opus", texts_folder, **settings)
    run = import_marian(tmp_path / "opus", tmp_path / "run")
    src, tgt = Run.open(tmp_path / "run").vocabularies
    batch = tokenizer_of(tmp_path / "opus")(TEXTS, return_tensors="pt", padding=True)
    targets = "target_vocab.json" if settings.get("joint") is False else "vocab.json"
    src_numbers = torch.tensor(numbers_of(src, tmp_path / "opus" / "vocab.json"))
    tgt_numbers = torch.tensor(numbers_of(tgt, tmp_path / "opus" / targets))
    ours = pad([[*ids, EOS] for ids in src.encode_all(TEXTS)])
    assert torch.equal(ours, src_numbers[batch.input_ids])
    begun = torch.randint(1, len(tgt_numbers) - 1, (len(TEXTS), 6))
    begun[:, 0] = theirs.config.decoder_start_token_id
    tgt_in = tgt_numbers[begun]
    tgt_in[:, 0] = BOS
    with torch.inference_mode():
        expected = theirs.float()(**batch, decoder_input_ids=begun).logits
        assert_close(run.model(ours, tgt_in)[..., tgt_numbers], expected)
    assert expected.std() > 0.1
    if run.model.config.activation == "gelu":
        with pytest.raises(InputError, match="activation is 'gelu', Marian can only have"):
            export_to_marian(run, tmp_path / "again")
        return
    export_to_marian(run, tmp_path / "again")
    again = MarianMTModel.from_pretrained(tmp_path / "again")
    with torch.inference_mode():
        assert_close(again(**batch, decoder_input_ids=begun).logits, expected)
    for name in ("source.spm", "target.spm", "vocab.json", targets):
        before, after = ((tmp_path / folder / name).read_bytes() for folder in ("opus", "again"))
        assert after == before if name.endswith("spm") else json.loads(after) == json.loads(before)


@pytest.mark.parametrize("side", [0, 1])
def test_vocabularies_of_two_sizes_pad_with_one_number(tmp_path, texts_folder, side):
    published(tmp_path / "opus", texts_folder, joint=False)
    run = import_marian(tmp_path / "opus", tmp_path / "run")
    vocabularies = list(run.vocabularies)
    size = len(vocabularies[side]) - 5
    vocabularies[side] = SentencePieces(
        vocabularies[side].model, vocabularies[side].tokens(range(size))
    )
    cut = (("src_",), ("tgt_", "output"))[side]
    weights = {
        name: weight[:size] if name.startswith(cut) else weight
        for name, weight in run.read(run.weights).items()
    }
    shorter = Run.from_weights(tmp_path / "less", run.recipe, Vocabularies(*vocabularies), weights)
    export_to_marian(shorter, tmp_path / "again")
    theirs = MarianMTModel.from_pretrained(tmp_path / "again")
    batch = tokenizer_of(tmp_path / "again")(TEXTS, return_tensors="pt", padding=True)
    begun = torch.tensor([[theirs.config.decoder_start_token_id, 5, 6]] * len(TEXTS))
    listed = tmp_path / "again" / "target_vocab.json"
    numbers = torch.tensor(numbers_of(vocabularies[1], listed))
    ours = pad([[*ids, EOS] for ids in vocabularies[0].encode_all(TEXTS)])
    tgt_in = numbers[begun]
    tgt_in[:, 0] = BOS
    with torch.inference_mode():
        expected = shorter.model(ours, tgt_in)[..., numbers]
        assert_close(theirs(**batch, decoder_input_ids=begun).logits, expected)


@pytest.mark.parametrize(("joint", "freeze"), [(True, ""), (False, "encoder,output.bias")])
def test_a_step_of_fine_tuning_is_that_of_hugging_face(tmp_path, texts_folder, joint, freeze):
    theirs = published(tmp_path / "opus", texts_folder, joint=joint)
    pad = theirs.config.pad_token_id
    theirs.final_logits_bias[0, pad] = -1e4  # ours has it twice: to begin with, and to fill up
    theirs.save_pretrained(tmp_path / "opus")
    first, corpus = import_marian(tmp_path / "opus", tmp_path / "run"), PAIRS[:6]
    step = Recipe(
        "transformer", "step", steps=1, optimizer="SGD", peak_rate=0.1, warmup=1, clip=None,
        average_decay=0.0, batch_tokens=9999, freeze=freeze,
    )  # fmt: skip
    corpus = Corpus("step", ("en", "ko"), {"train": corpus, "val": corpus})
    run = Run.create(tmp_path / "tuned", step, corpus, start=first)
    train(run, corpus)
    export_to_marian(run, tmp_path / "again")
    found = MarianMTModel.from_pretrained(tmp_path / "again").state_dict()
    src, tgt = corpus.sides("train")
    batch = tokenizer_of(tmp_path / "opus")(src, text_target=tgt, return_tensors="pt", padding=True)
    batch["labels"][batch["labels"] == pad] = -100
    theirs.final_logits_bias.requires_grad_(not freeze)  # to them it is no parameter
    if freeze:
        theirs.model.encoder.layers.requires_grad_(False)
    theirs(**batch).loss.backward()
    moved = 0
    for name, weight in theirs.state_dict(keep_vars=True).items():
        expected = weight.detach().clone()
        if weight.grad is not None:
            expected -= 0.1 * weight.grad
            moved += 1
        if weight.dim() == 2 and len(expected) > pad:  # they never train the row of <pad>
            found[name][pad], expected[pad] = 0, 0
        if "positions" not in name:
            assert_close(found[name], expected)
    assert moved > 30


@pytest.fixture(scope="module")
def learning(tmp_path_factory, texts_folder):
    """A model that Hugging Face's classes have trained a little, so that it says something."""
    folder = tmp_path_factory.mktemp("learning") / "opus"
    torch.manual_seed(0)
    model = published(folder, texts_folder, fresh=True, d_model=32, init_std=0.2).train()
    batch = tokenizer_of(folder)(
        TEXTS, text_target=[tgt for _, tgt in PAIRS[:4]], return_tensors="pt", padding=True
    )
    batch["labels"][batch["labels"] == model.config.pad_token_id] = -100
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(100):
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval().save_pretrained(folder)
    return folder, model


def test_greedy_translations_are_those_of_hugging_face(tmp_path, learning, monkeypatch, capsys):
    folder, model = learning
    run, tokenizer = import_marian(folder, tmp_path / "run"), tokenizer_of(folder)
    texts = [src for src, _ in PAIRS[:12]]
    expected = []
    for text in texts:
        tokens = tokenizer([text], return_tensors="pt")
        found = model.generate(
            **tokens, num_beams=1, do_sample=False, max_new_tokens=tokens.input_ids.size(1) + 50,
            bad_words_ids=[[model.config.pad_token_id]],
        )  # fmt: skip
        expected += tokenizer.batch_decode(found, skip_special_tokens=True)
    assert run.translate(texts, GREEDY) == expected
    assert len(set(expected)) > 4
    assert expected[0] == PAIRS[0][1]
    export_to_marian(run, tmp_path / "again")
    monkeypatch.chdir(tmp_path / "again")
    with pytest.warns(UserWarning, match="pip install sacremoses"):
        run_the_readme(monkeypatch, texts[5])
    assert capsys.readouterr().out == expected[5] + "\n"


def test_a_text_is_cut_as_by_hugging_face(tmp_path, learning):
    folder, _ = learning
    tokenizer, src = tokenizer_of(folder), import_marian(folder, tmp_path / "run").vocabularies.src
    numbers = numbers_of(src, folder / "vocab.json")
    for text in ("", " a  student ", "Ünknown ☃", ">>kor<< I am", ">>xyz<<", "</s>x"):
        theirs = [numbers[i] for i in tokenizer.convert_tokens_to_ids(tokenizer._tokenize(text))]
        assert src.encode(text) == [UNK if i == EOS else i for i in theirs]


def test_a_language_that_the_model_does_not_have_is_told(tmp_path, learning):
    run = import_marian(learning[0], tmp_path / "run")
    known, unknown = LineTranslator(run, GREEDY)([b">>kor<< I am", b">>ko<< I am"])
    assert known.fault is None
    assert unknown.fault == "begins with >>ko<<, and the model has >>kor<<"


def test_sentence_pieces_are_written_and_read(texts_folder):
    model = (texts_folder / "target.spm").read_bytes()
    tokens = [*SPECIALS, *list(json.loads((texts_folder / "joint.json").read_text()))[2:-1]]
    vocabulary = SentencePieces(model, tokens)
    again = vocabulary_of_json(vocabulary.to_json())
    assert again.to_json() == vocabulary.to_json()
    for _, tgt in PAIRS[:20]:
        ids = again.encode(tgt)
        assert UNK not in ids
        assert again.decode([BOS, *ids, EOS, PAD]) == tgt
    assert len(again) == len(tokens)
    for wrong in (-1, len(tokens)):
        with pytest.raises(InputError, match=f"id {wrong} is outside the vocabulary of"):
            again.decode([wrong])


def test_what_is_no_model_of_pieces_is_refused(texts_folder):
    model = (texts_folder / "source.spm").read_bytes()
    for proto, tokens, sentence in (
        (b"nothing", SPECIALS, "this is not a model of SentencePiece"),
        (b"", SPECIALS, r"not a model of SentencePiece \(it has 0 bytes"),
        (
            model.replace("▁".encode(), b"\xe2\x96\xff", 1),
            SPECIALS,
            r"SentencePiece \('utf-8' codec",
        ),
        (model, ["a"], r"the first tokens are \('a',\), they must be"),
    ):
        with pytest.raises(InputError, match=sentence):
            SentencePieces(proto, tokens)
    described = {"type": "SentencePiece", "tokens": SPECIALS}
    for more in ({}, {"proto": "!!!!"}, {"proto": 5}):
        with pytest.raises(InputError, match="this is not the JSON of sentence pieces"):
            vocabulary_of_json(json.dumps({"model": described | more}))
    with pytest.raises(InputError, match="this is not the JSON of sentence pieces"):
        SentencePieces.from_json("[" * 100_000)
    with pytest.raises(InputError, match="this is not the JSON of a vocabulary"):
        vocabulary_of_json("[" * 100_000)


CONFIGS = [
    ({"model_type": "bart"}, "model_type is 'bart', our model can only have 'marian'."),
    ({"normalize_before": True}, "normalize_before is True, our model can only have False"),
    ({"static_position_embeddings": False}, "our model can only have True."),
    ({"quantization_config": {"bits": 8}}, "has quantization_config, it must not: its weights are"),
    ({"num_hidden_layers": 1}, "decoder_layers is 2 and num_hidden_layers is 1: they must be the"),
    ({"vocab_size": 7}, r"vocab_size is 7, .*vocab\.json has \d+\.$"),
    ({"decoder_vocab_size": 7}, r"decoder_vocab_size is 7, .*vocab\.json has \d+\.$"),
    ({"decoder_layers": 1}, "decoder_layers is 1 and encoder_layers is 2: they must be"),
    ({"activation_function": "mish"}, "activation_function is 'mish', it must be one of relu"),
    ({"encoder_layers": 1, "decoder_layers": 1}, r"layers\.1\..* does not belong to a model of"),
    (
        {"encoder_ffn_dim": 12, "decoder_ffn_dim": 12},
        r"fc1\.weight has the shape \[24, 16\], it must be \[12, 16\]\.$",
    ),
    ({"eos_token_id": 3}, r"eos_token_id is 3, .*vocab.json has 0"),
    ({"decoder_start_token_id": 9999}, "decoder_start_token_id is 9999, .* no such token"),
    ({"decoder_start_token_id": 1.0}, r"decoder_start_token_id is 1\.0, it must be an int"),
    ({"d_model": None}, "d_model is None, it must be an integer"),
    ({"d_model": 15}, "d_model is 15, it must be"),
    ({"max_position_embeddings": 80}, "embed_positions.weight is not sinusoidal"),
    (
        {"max_position_embeddings": 10**9},
        r"embeddings is 1000000000, it must be an integer, .* at most 100,000\.$",
    ),
    ({"tie_word_embeddings": "no"}, "tie_word_embeddings is 'no', it must be true or false"),
    ({"num_beams": []}, r"num_beams is \[\], it must be an integer"),
]


def test_a_model_of_another_kind_is_refused(tmp_path, texts_folder):
    published(tmp_path / "opus", texts_folder, binary=True)
    path = tmp_path / "opus" / "config.json"
    config = json.loads(path.read_text())
    for changes, sentence in CONFIGS:
        path.write_text(json.dumps(config | changes))
        with pytest.raises(InputError, match=sentence):
            import_marian(tmp_path / "opus", tmp_path / "run")
        assert not (tmp_path / "run").exists()


def test_a_missing_or_damaged_file_is_named(tmp_path, texts_folder):
    published(tmp_path / "opus", texts_folder, binary=True)
    for name, sentence in {
        "config.json": r"config\.json holds a list, it must be values by name",
        "vocab.json": r"vocab\.json holds a list, it must be values by name",
        "source.spm": r"source\.spm: this is not a model of SentencePiece",
        "target.spm": r"target\.spm: this is not a model of SentencePiece",
        "pytorch_model.bin": r"pytorch_model\.bin cannot be read \(damaged",
    }.items():
        path = tmp_path / "opus" / name
        kept = path.read_bytes()
        path.write_bytes(b"[]")
        with pytest.raises(InputError, match=sentence):
            import_marian(tmp_path / "opus", tmp_path / "run")
        path.unlink()
        with pytest.raises(InputError, match=r"opus.* cannot be read \(.*No such file"):
            import_marian(tmp_path / "opus", tmp_path / "run")
        path.write_bytes(kept)


def test_pieces_of_another_vocabulary_are_refused(tmp_path, texts_folder):
    published(tmp_path / "opus", texts_folder)
    pieces_of(tmp_path / "opus", "target", ["съешь ещё этих мягких французских булок"] * 9)
    sentence = r"vocab\.json has \d of the \d+ pieces of .*target\.spm, it must have most of them"
    with pytest.raises(InputError, match=sentence):
        import_marian(tmp_path / "opus", tmp_path / "run")
    assert not (tmp_path / "run").exists()


SHARED = "model.shared.weight"
NORM = "model.decoder.layers.1.encoder_attn_layer_norm.weight"
INNER = "model.encoder.layers.0.fc1.weight"
WEIGHTS = [
    ({SHARED: torch.ones(9, 16)}, r"shared\.weight and lm_head\.weight differ, they must be equal"),
    ({NORM: torch.ones(())}, r"norm\.weight has the shape \[\], it must be \[16\]\.$"),
    ({INNER: torch.ones(24, 16).int()}, "fc1.weight' in .* is of the type torch.int32, it must be"),
    ({INNER: torch.ones(24, 16).to(torch.float8_e4m3fn)}, "float8_e4m3fn, .* not quantised"),
    ({INNER: torch.ones(24, 16).to_sparse()}, "of the type torch.float32, it must be a dense"),
    ({INNER: 5}, r"fc1\.weight' in .*pytorch_model\.bin is of the type int, it must be a dense"),
    ({INNER: torch.full((24, 16), 1e300, dtype=torch.float64)}, r"fc1\.weight contains nan or inf"),
    ({INNER: None}, r"there is no weight model\.encoder\..*\.fc1\.weight"),
    ({"code": Path("/")}, r"pytorch_model\.bin cannot be read \(damaged, or not only tensors\)\.$"),
    ({5: torch.ones(24)}, r"pytorch_model\.bin has the name 5, it must be a text\.$"),
    ([1, 2], r"pytorch_model\.bin holds a list, it must be tensors by name\.$"),
]


@pytest.mark.filterwarnings("ignore:Validating sparse tensor invariants")  # of PyTorch, since 2.15
def test_weights_of_another_kind_are_named(tmp_path, texts_folder):
    model = published(tmp_path / "opus", texts_folder, binary=True)
    # The file as other programs may write it, one matrix under one name.
    weights = {k: w for k, w in model.state_dict().items() if "embed_tokens" not in k}
    for changes, sentence in WEIGHTS:
        stored = weights | changes if isinstance(changes, dict) else changes
        if changes == {INNER: None}:
            del stored[INNER]
        torch.save(stored, tmp_path / "opus" / "pytorch_model.bin")
        with pytest.raises(InputError, match=sentence):
            import_marian(tmp_path / "opus", tmp_path / "run")
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("joint", [True, False])
def test_a_matrix_that_is_tied_has_one_value(tmp_path, texts_folder, joint):
    weights = dict(published(tmp_path / "opus", texts_folder, joint=joint).state_dict())
    settings, path = read_settings(tmp_path / "opus"), tmp_path / "opus" / "model.safetensors"
    tied = TABLES if joint else TABLES[2:]
    table = weights.pop(tied[0]).clone()
    others = {name: weight.clone() for name, weight in weights.items() if name not in tied}
    for name in tied:  # stored under one of its names, it has all
        found = with_every_name(others | {name: table}, settings)
        assert all(torch.equal(found[other], table) for other in tied)
        one, *_ = (other for other in tied if other != name)
        save_file(others | {one: table.clone(), name: table + 1}, path)
        with pytest.raises(InputError, match=f"({name} and {one}|{one} and {name}) differ, they"):
            import_marian(tmp_path / "opus", tmp_path / "run")


def test_each_setting_is_read_or_harmless_or_refused_by_its_name(tmp_path, texts_folder):
    folder = tmp_path / "opus"
    published(folder, texts_folder)
    written, same = json.loads((folder / "config.json").read_text()), read_settings(folder)
    keys = keys_of(MarianConfig)
    text = {"input_ids": torch.tensor([[5, 6, 7, 0]]), "decoder_input_ids": torch.tensor([[9, 4]])}
    with torch.inference_mode():
        expected = MarianMTModel.from_pretrained(folder)(**text).logits
    for key in dict.fromkeys([*keys, *WITHOUT]):
        given = {key: hostile(key, written.get(key))}
        (folder / "config.json").write_text(json.dumps(written | given))
        try:
            read = read_settings(folder)
        except InputError as error:
            said = str(error)
        else:
            said = key if read != same else ""
        if said:  # read, and other tests say what becomes of it, or refused
            assert key in said
            continue
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")
            model = MarianMTModel.from_pretrained(folder, dtype=torch.float32)
        assert_close(model(**text, return_dict=True).logits, expected)
    assert len(keys) > 50


def test_layers_that_are_not_there_are_not_built(tmp_path, texts_folder, monkeypatch):
    published(tmp_path / "opus", texts_folder)
    path = tmp_path / "opus" / "config.json"
    more = dict.fromkeys(("encoder_layers", "decoder_layers", "num_hidden_layers"), 900)
    path.write_text(json.dumps(json.loads(path.read_text()) | more))
    monkeypatch.setattr("annotated_transformer.exchange.from_marian.Transformer", None)
    with pytest.raises(InputError, match=r"there is no weight model.encoder.layers.2."):
        import_marian(tmp_path / "opus", tmp_path / "run")


def test_a_token_with_no_number_of_its_own_is_named(tmp_path, texts_folder):
    published(tmp_path / "opus", texts_folder)
    path = tmp_path / "opus" / "vocab.json"
    numbers = json.loads(path.read_text())
    assert numbers["▁the"] != 3
    for value, sentence in (
        ("3", r"vocab\.json says '3' of '▁the', it must be an integer\.$"),
        (True, r"vocab\.json says True of '▁the', it must be an integer\.$"),
        (3, r"vocab\.json must number its tokens from 0, each once, with <pad>, </s> and <unk>"),
    ):
        path.write_text(json.dumps(numbers | {"▁the": value}))
        with pytest.raises(InputError, match=sentence):
            import_marian(tmp_path / "opus", tmp_path / "run")
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "config", "given", "found"),
    [
        ("opus-mt-ko-en", None, None, "ko-en"),
        ("opus", "Helsinki-NLP/opus-mt-tc-big-ko-en", None, "ko-en"),
        ("opus", "/tmp/opus-mt-ko-en", "ko-en", "ko-en"),
        ("opus-mt-gem-en", None, None, None),  # a group
        ("opus-mt-en-jap", None, "en-ja", "en-ja"),
        ("opus", None, "ko-en", "ko-en"),
    ],
)
def test_an_imported_run_has_the_languages_in_its_name(
    tmp_path, learning, name, config, given, found
):
    shutil.copytree(learning[0], tmp_path / name)
    path = tmp_path / name / "config.json"
    settings = json.loads(path.read_text()) | {"_name_or_path": config}
    path.write_text(json.dumps(settings))
    run = import_marian(tmp_path / name, tmp_path / "run", given)
    assert Run.open(run.folder).recipe.languages == found
    export_to_marian(run, tmp_path / "again")
    assert import_marian(tmp_path / "again", tmp_path / "second").recipe.languages == found
    refused = {"en": "it must be SRC-TGT"}
    if "ko-en" in f"{name} {config}":
        refused["en-ko"] = "the model is for 'ko-en'"
    for languages, message in refused.items():
        with pytest.raises(InputError, match=f"languages is '{languages}', {message}"):
            import_marian(tmp_path / name, tmp_path / "other", languages)
    assert not (tmp_path / "other").exists()


def test_an_imported_run_translates_and_is_not_trained(tmp_path, learning):
    folder, _ = learning
    made = CliRunner().invoke(app, ["import", str(folder), str(tmp_path / "run")])
    assert made.stdout == f'Imported. Try: annotated-transformer translate {tmp_path}/run "…"\n'
    done = CliRunner().invoke(app, ["translate", str(tmp_path / "run"), PAIRS[0][0], "--beam", "1"])
    assert done.stdout.strip() == PAIRS[0][1]
    again = CliRunner().invoke(app, ["import", str(folder), str(tmp_path / "run")])
    assert again.stderr == f"Error: {tmp_path}/run is not empty: choose another place.\n"
    run = Run.open(tmp_path / "run")
    with pytest.raises(InputError, match="its training cannot be resumed"):
        run.require_trainable()
    with pytest.raises(InputError, match="has sentence pieces, CTranslate2 supports only"):
        export_to_ctranslate2(run, tmp_path / "ct2")
