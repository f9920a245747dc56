"""The records of search by meaning: captions by translations, paragraphs by definitions."""

import json
import math
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from annotated_transformer.exchange import MINILM, load_model
from annotated_transformer.run import Run
from fetch_weights import FOLDER
from records import captions
from records.tables import ROOT, Row, Tables, read

Scores = np.ndarray[tuple[int, int], Any]  # of each query (row) with each text (column)
CAPTIONS = ("test_2016_flickr", "test_2017_flickr")
SPLITS = {**dict.fromkeys(CAPTIONS, 1000), "course": 153, "course_sentences": 153}
"""How many queries each has."""
BM25 = [(k, b) for k in (0.3, 0.6, 1.2, 2.4) for b in (0.0, 0.25, 0.5, 0.75, 1.0)]
"""k₁, by how much a word counts that is repeated; b, how much a long caption is discounted."""
RARITY = (10.0, 1.0, 0.1, 0.03, 0.01, 0.003, 0.001)
"""a of the weight a / (a + p) of a token of frequency p: small, and only rare tokens count."""
RESAMPLES = 2000
GELU_TANH = torch.nn.GELU(approximate="tanh")
COURSE = "276bbefd"
"""The commit whose lessons and glossary are searched: the record stays that of one text."""


@cache
def minilm() -> tuple[Any, Tokenizer]:
    """Return the model and its tokenizer."""
    tokenizer = Tokenizer.from_file(str(MINILM.verify(FOLDER) / "tokenizer.json"))
    tokenizer.enable_padding()
    return load_model(FOLDER), tokenizer


@torch.no_grad()
def embeddings(texts: Sequence[str], model: Any = None) -> torch.Tensor:
    """Return MiniLM's embedding of each text, or that of a model given in its place."""
    model, tokenizer = model or minilm()[0], minilm()[1]
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # little padding
    batches = [[texts[i] for i in order[at : at + 50]] for at in range(0, len(order), 50)]
    read = [torch.tensor([e.ids for e in tokenizer.encode_batch(batch)]) for batch in batches]
    return torch.cat([*map(model.sentence_vectors, read)])[np.argsort(order)]


def by_sentence_vector(queries: Sequence[str], texts: Sequence[str]) -> Scores:
    """Compute the cosine of MiniLM's sentence vectors."""
    scores: Scores = (embeddings(queries) @ embeddings(texts).T).numpy()
    return scores


@cache
def frequencies() -> Counter[int]:
    """Count the tokens of the English training captions."""
    encodings = minilm()[1].encode_batch(captions.corpus().sides("train")[1])
    return Counter(i for e in encodings for i in e.ids)


def by_mean_embedding(
    queries: Sequence[str], texts: Sequence[str], rarity: float, removing: bool = False
) -> Scores:
    """Compute the cosine of the weighted means of MiniLM's token embeddings, below all layers.

    ``removing`` the direction that the texts have in common, their first singular vector.

    Source: Arora et al. 2017, section 3, algorithm 1.
    """
    model, tokenizer = minilm()
    table, total = model.tokens.weight.detach().numpy(), frequencies().total()

    def vectors(texts: Sequence[str]) -> Any:
        rows = []
        for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False):
            ids = [i for i, real in zip(encoding.ids, encoding.attention_mask, strict=True) if real]
            weights = [rarity / (rarity + frequencies()[i] / total) for i in ids]
            rows.append(weights @ table[ids] / len(ids))
        return np.stack(rows)

    both = [vectors(queries), vectors(texts)]
    if removing:
        common = np.linalg.svd(both[1], full_matrices=False)[2][0]
        both = [rows - np.outer(rows @ common, common) for rows in both]
    found, from_ = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in both)
    scores: Scores = found @ from_.T
    return scores


@cache
def stem(word: str) -> str:
    """Return the stem of an English word."""
    from snowballstemmer import stemmer  # comes with Sphinx

    return str(stemmer("english").stemWord(word))


def words(text: str, stemming: bool = False) -> list[str]:
    """Return the lower-cased words, or their stems."""
    found = re.findall(r"\w+", text.lower())
    return [*map(stem, found)] if stemming else found


def by_words(
    queries: Sequence[str], texts: Sequence[str], k: float, b: float, stemming: bool = False
) -> Scores:
    """Compute BM25 (Robertson and Zaragoza 2009, section 3.4) of lower-cased words or stems."""
    bags = [Counter(words(text, stemming)) for text in texts]
    column = {word: i for i, word in enumerate(dict.fromkeys(w for bag in bags for w in bag))}
    counts, asked = np.zeros((len(bags), len(column))), np.zeros((len(queries), len(column)))
    for row, bag in zip(counts, bags, strict=True):
        row[[column[word] for word in bag]] = list(bag.values())
    for row, query in zip(asked, queries, strict=True):
        for word in words(query, stemming):
            row[column.get(word, [])] += 1
    having = (counts > 0).sum(axis=0)
    idf = np.log(1 + (len(bags) - having + 0.5) / (having + 0.5))
    length = counts.sum(axis=1, keepdims=True)
    norm = k * (1 - b + b * length / length.mean())
    scores: Scores = asked @ (idf * counts * (k + 1) / (counts + norm)).T
    return scores


def ranks(scores: Scores, right: Scores) -> Any:
    """Return the rank of each query's best right text, from 1; of equal scores, the last."""
    best = np.where(right, scores, -np.inf).max(axis=1, keepdims=True)
    return 1 + ((scores >= best) & ~right).sum(axis=1)


def translations(split: str) -> tuple[list[str], list[str], list[str]]:
    """Return the German captions of a split, the checkpoint's translations, the English ones."""
    torch.set_num_threads(1)
    german, english = captions.corpus().sides(split)
    return german, Run.open(captions.CHECKPOINT).translate(german), english


def plain(markdown: str) -> str:
    """Return a paragraph without its markup."""
    without_links = re.sub(r"<[^>]*>|!?\[([^]]*)\]\([^)]*\)", r"\1", markdown)
    return " ".join(re.sub(r"[*`$\\]", "", without_links).split())


def committed(path: Path) -> str:
    """Return what a file contained at the commit ``COURSE``."""
    name = f"{COURSE}:{path.relative_to(ROOT).as_posix()}"
    return subprocess.run(
        ["git", "show", name], cwd=ROOT, check=True, capture_output=True
    ).stdout.decode()


def course(sentences: bool = False) -> tuple[list[str], list[str], Scores]:
    """Return the glossary's definitions, the paragraphs of lessons, and which are right for which.

    Right is every paragraph of a lesson whose own glossary has the term; the term itself is not in
    the query. A definition that shares six words in a row with a paragraph is left out. With
    ``sentences``, each sentence of a paragraph is a text of its own.
    """
    paragraphs, lessons_of = [], {}
    lessons = sorted((ROOT / "book").glob("[0-9]*.ipynb"))[:20]  # those before the record's own
    for path in lessons:
        cells = json.loads(committed(path))["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        lesson, _, rest = text.partition("\n## Exercises")
        blocks = map(str.strip, re.split(r"\n\s*\n", lesson))
        prose = [
            block for block in blocks if len(block.split()) >= 15 and block[0] not in "#|>!$-<"
        ]
        paragraphs += [(path.stem, plain(block)) for block in prose]
        rows = rest.partition("\n## Glossary")[2].partition("\n## ")[0]
        for term in re.findall(r"(?m)^\| (.+?) \|", rows):
            lessons_of.setdefault(term, set()).add(path.stem)
    known = {run for _, text in paragraphs for run in runs(text)}
    if sentences:
        paragraphs = [
            (lesson, sentence)
            for lesson, text in paragraphs
            for sentence in re.split(r"(?<=[.?!:]) (?=[A-Z])", text)
        ]
    entries = committed(ROOT / "book/glossary.md").split("\n\n")
    queries, right = [], []
    for entry in entries:
        term, *lines = entry.removeprefix("```{glossary}\n").splitlines()
        query = plain(" ".join(line for line in lines if line.startswith("  ")))
        if term in lessons_of and not known.intersection(runs(query)):
            queries.append(query)
            right.append([lesson in lessons_of[term] for lesson, _ in paragraphs])
    return queries, [text for _, text in paragraphs], np.array(right)


def runs(text: str, length: int = 6) -> set[tuple[str, ...]]:
    """Return all runs of so many words."""
    found = words(text)
    return set(zip(*(found[i:] for i in range(length)), strict=False))


GRIDS: dict[str, tuple[Callable[..., Scores], Sequence[tuple[float, ...]]]] = {
    "embeddings": (by_mean_embedding, [(a,) for a in RARITY]),
    "component_removed": (partial(by_mean_embedding, removing=True), [(a,) for a in RARITY]),
    "BM25": (by_words, BM25),
    "stems": (partial(by_words, stemming=True), BM25),
}
"""The simpler searches, and the settings of each that are tried."""


def make_search_settings(tables: Tables) -> None:
    """The settings of the simpler searches, tried on the validation captions.

    What would refute the choice: a best value at the end of its grid that could go further. Run:
    there is none; b = 1, full discount for length, is the largest that BM25 has, and with a = 10
    the weights of all tokens are equal to one per cent.
    """
    tried = [
        (name, " ".join(map(str, setting))) for name, (_, grid) in GRIDS.items() for setting in grid
    ]
    if tables.check or tables.path("search_settings").exists():
        tables.extend("search_settings", dict, tried, ["search", "setting"])
        return
    _, found, english = translations("val")
    rows: list[Row] = []
    for name, setting in tried:
        scores = GRIDS[name][0](found, english, *map(float, setting.split()))
        mrr = round((1 / ranks(scores, own(found))).mean(), 4)
        rows.append({"search": name, "setting": setting, "mrr": mrr})
    tables.write("search_settings", rows)


def own(queries: Sequence[str]) -> Scores:
    """Return that the text of a query's own number is right."""
    return np.eye(len(queries), dtype=bool)


def best_settings(tables: Tables, name: str) -> list[float]:
    """Return the settings of a search that are best on the validation captions."""
    rows = [row for row in read(tables.path("search_settings")) if row["search"] == name]
    best = max(rows, key=lambda row: float(row["mrr"]))
    return [float(number) for number in best["setting"].split()]


def make_search_ranks(tables: Tables) -> None:
    """The rank of the right text: of a caption for its translation, of a lesson for a definition.

    What would refute "the sentence encoder finds more": captions that it was not trained on. Those
    of Flickr30k, among them test_2016_flickr, are in its training data; test_2017_flickr is newer.
    And texts that are no captions. Run: see search.
    """
    if tables.check or tables.path("search_ranks").exists():
        tasks = [(split, i) for split, count in SPLITS.items() for i in range(count)]
        tables.extend("search_ranks", dict, tasks, ["split", "number"])
        return
    rows: list[Row] = []
    for split in SPLITS:
        if split not in CAPTIONS:
            queries, texts, right = course(sentences=split != "course")
            others = {}
        else:
            german, queries, texts = translations(split)
            right = own(queries)
            others = {"untranslated": by_sentence_vector(german, texts)}
        searches = {"sentence_vectors": by_sentence_vector(queries, texts)} | others
        for name, (method, _) in GRIDS.items():
            searches[name] = method(queries, texts, *best_settings(tables, name))
        of_each = {name: ranks(scores, right).tolist() for name, scores in searches.items()}
        for i, query in enumerate(queries):
            found = {name: of_each[name][i] if name in of_each else "" for name in SEARCHES}
            rows.append({"split": split, "number": i, "query": query, "texts": len(texts)} | found)
    tables.write("search_ranks", rows)


MEASURES: dict[str, Callable[[Any], Any]] = {
    "recall_1": lambda rank: 100.0 * (rank <= 1),
    "recall_5": lambda rank: 100.0 * (rank <= 5),
    "mrr": lambda rank: 1 / rank,
}
SEARCHES = ("sentence_vectors", *GRIDS, "untranslated")


def resampled_ends(values: Any) -> tuple[float, float]:
    """Compute the ends of the 95 % interval of a mean over queries, by drawing queries anew."""
    drawn = np.random.default_rng(0).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def make_search(tables: Tables) -> None:
    """Recall and mean reciprocal rank of each search, with intervals by bootstrap over queries.

    What would refute "the sentence encoder finds more": captions that it was not trained on, the
    rows of test_2017_flickr; better rivals, BM25 of stems and the mean embedding without the
    direction that all have in common; other texts, the course's own paragraphs and sentences. Run:
    of new captions we see no difference to the mean embedding any more, the gain over BM25 is half
    as large; of the course's paragraphs BM25 finds more, of its sentences we see no difference.
    A row "… − …" is the difference, query by query.
    """
    first = SEARCHES[0]
    kinds = [*SEARCHES, *(f"{first} − {other}" for other in SEARCHES[1:])]
    tasks = [(s, k) for s in SPLITS for k in kinds if s in CAPTIONS or "untranslated" not in k]
    if tables.check or tables.path("search").exists():
        tables.extend("search", dict, tasks, ["split", "search"])
        return
    rows: list[Row] = []
    for split, kind in tasks:
        of_split = [row for row in read(tables.path("search_ranks")) if row["split"] == split]
        row: Row = {"split": split, "search": kind, "queries": len(of_split)}
        row["texts"] = of_split[0]["texts"]
        for measure, function in MEASURES.items():
            mine, *other = (
                function(np.array([int(row[name]) for row in of_split]))
                for name in kind.split(" − ")
            )
            values = mine - other[0] if other else mine
            low, high = resampled_ends(values)
            digits = 3 if math.isclose(function(np.array(1)), 1) else 1
            row[measure] = round(values.mean(), digits)
            row |= {f"{measure}_low": round(low, digits), f"{measure}_high": round(high, digits)}
        rows.append(row)
    tables.write("search", rows)


def make_search_years(tables: Tables) -> None:
    """How much more the sentence encoder gains on captions that it may have seen than on new ones.

    What would refute "it gains more where it may have seen the texts": an interval of the
    difference of the two gains that contains 0. Run: both do.
    """
    rivals = ["component_removed", "stems"]
    if tables.check or tables.path("search_years").exists():
        tables.extend("search_years", dict, [(rival,) for rival in rivals], ["against"])
        return
    generator, rows = np.random.default_rng(0), list[Row]()
    for rival in rivals:
        gains = []
        for split in CAPTIONS:
            of_split = [row for row in read(tables.path("search_ranks")) if row["split"] == split]
            first = {name: np.array([row[name] == "1" for row in of_split]) for name in SEARCHES}
            gains.append(100.0 * first[SEARCHES[0]] - 100.0 * first[rival])
        drawn = [
            gain[generator.integers(len(gain), size=(RESAMPLES, len(gain)))].mean(axis=1)
            for gain in gains
        ]
        low, high = np.quantile(drawn[0] - drawn[1], [0.025, 0.975])
        seen, new = (gain.mean() for gain in gains)
        row: Row = {"against": rival, "gain_2016": round(seen, 1), "gain_2017": round(new, 1)}
        row |= {"difference": round(seen - new, 1), "low": round(low, 1), "high": round(high, 1)}
        rows.append(row)
    tables.write("search_years", rows)


def _epsilon(model: Any) -> None:
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = 1e-5


def _heads(attention: Any) -> None:
    attention.num_heads = attention.num_kv_heads = 6
    attention.d_k = attention.d_v = 64


def _swap(parts: Any, one: str, other: str) -> None:
    first, second = getattr(parts, one), getattr(parts, other)
    setattr(parts, one, second)
    setattr(parts, other, first)


def _turn(linear: Any) -> None:
    linear.weight = torch.nn.Parameter(linear.weight.detach().T.contiguous())


def _in_layers(change: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda model: [change(layer) for layer in model.encoder]


WRONG: dict[str, Callable[[Any], object]] = {
    "none": lambda model: None,
    "ε = 1e-5": _epsilon,
    "GELU by tanh": _in_layers(lambda layer: setattr(layer.feed_forward, "activation", GELU_TANH)),
    "ReLU": _in_layers(lambda layer: setattr(layer.feed_forward, "activation", torch.relu)),
    "6 heads": _in_layers(lambda layer: _heads(layer.self_attention)),
    "positions from 1": lambda model: model.positions.table.data.copy_(
        model.positions.table.data.roll(-1, 0)
    ),
    "norms swapped": _in_layers(lambda layer: _swap(layer, "residual_1", "residual_2")),
    "W^Q and W^K swapped": _in_layers(lambda layer: _swap(layer.self_attention, "query", "key")),
    "W^Q transposed": _in_layers(lambda layer: _turn(layer.self_attention.query)),
    "W^V transposed": _in_layers(lambda layer: _turn(layer.self_attention.value)),
}
"""Mistakes in loading after which all shapes fit."""


def make_wrong_weights(tables: Tables) -> None:
    """What a mistake in loading does to the search of 1,000 new captions by their translations.

    What would refute "search does not tell the wrong models": a mistake after which it finds
    clearly fewer of 1,000, while hidden states are all but equal. Run: see the rows; the distance
    is the largest of any hidden state of the last layer, the cosine the least of any caption.
    """
    if tables.check or tables.path("wrong_weights").exists():
        tables.extend("wrong_weights", dict, [(name,) for name in WRONG], ["mistake"])
        return
    ranked = read(tables.path("search_ranks"))
    queries = [row["query"] for row in ranked if row["split"] == CAPTIONS[1]]
    _, texts = captions.corpus().sides(CAPTIONS[1])
    rows: list[Row] = []
    right: list[Any] = []
    for name, change in WRONG.items():
        model = load_model(FOLDER)
        with torch.no_grad():
            change(model)
        ids = torch.tensor([e.ids for e in minilm()[1].encode_batch(texts[:50])])
        with torch.no_grad():
            states = model(ids)[ids != 0]
        found = embeddings(texts, model)
        first = ranks((embeddings(queries, model) @ found.T).numpy(), own(queries)) <= 1
        right = right or [first, found, states]
        lost = 100.0 * first - 100.0 * right[0]
        low, high = resampled_ends(lost)
        row: Row = {"mistake": name, "recall_1": round(100 * first.mean(), 1)}
        row |= {"gain": round(lost.mean(), 1), "low": round(low, 1), "high": round(high, 1)}
        row["least_cosine"] = round(float((found * right[1]).sum(dim=1).min()), 6)
        row["distance"] = f"{float((states - right[2]).abs().max()):.0e}"
        rows.append(row)
    tables.write("wrong_weights", rows)
