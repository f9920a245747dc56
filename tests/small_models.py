"""Models and examples that are small enough to be checked by slow, obvious means."""

from random import Random

from annotated_transformer.recipes import MODELS

VOCAB = 11


def small_model(name, vocab=VOCAB, **changes):
    """A model of that name, in double precision."""
    sizes = {"d_model": 12, "hidden_dim": 10}
    if name == "transformer":
        sizes = {"d_model": 12, "num_layers": 2, "num_heads": 2, "d_ff": 16, "dropout": 0.0}
    model_class, config_class = MODELS[name]
    return model_class(config_class(vocab, vocab, **sizes | changes)).double()


def random_examples(count, longest=6, vocab=VOCAB, seed=0):
    """Pairs of one to ``longest`` random ids, none of them special."""
    random = Random(seed)

    def sentence():
        return [random.randrange(4, vocab) for _ in range(random.randint(1, longest))]

    return [(sentence(), sentence()) for _ in range(count)]
