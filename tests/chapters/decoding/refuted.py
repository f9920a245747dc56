import torch

from annotated_transformer.batches import Batch
from annotated_transformer.decoding import Search, greedy
from annotated_transformer.tokens import BOS, EOS
from annotated_transformer.transformer import Transformer, TransformerConfig
from transformer_workbook.chapters.decoding import proofs

TEST = [([5, 6, 7], [8, 9]), ([9, 8], [7])]


def model():
    return Transformer(TransformerConfig.tiny(12, 12)).eval()


def greedy_search():
    proofs.greedy_search(lambda _, src, longest: torch.full((2, longest), EOS), model(), TEST)


def beam_search():
    def narrow(model, src, size, alpha, longest):
        [best] = greedy(model, src, Search(1, alpha=alpha))
        return [(best.score, [BOS, *best.tokens])]

    proofs.beam_search(narrow, model(), TEST)


def rating():
    def without_end(model, pairs):
        return torch.zeros(len(pairs))

    translator = model()
    found = greedy(translator, Batch.of(TEST).src)
    proofs.rating(without_end, translator, TEST, found)


def drawing():
    def unsorted(logits, temperature=1.0, top_k=None, top_p=1.0):
        return logits.softmax(dim=-1), torch.arange(len(logits))

    proofs.drawing(unsorted)


REFUTED = {
    greedy_search: "this is not true: on all 2 test sentences",
    beam_search: "this is not true: for 20 sentences, your search and the package's find",
    rating: "those of teacher forcing differs from the log-probabilities of the search",
    drawing: "your probabilities differs from the shares of words in 10,000 draws of the package",
}
