"""Initial weights: what a Transformer and a language model begin with, and which they share."""

from torch import nn


def output_layer(embedding: nn.Embedding, tied: bool) -> nn.Linear:
    """Make the layer of the logits; a tied one has the matrix of the embeddings.

    Source: Vaswani et al. 2017, section 3.4; Press and Wolf 2017.
    """
    output = nn.Linear(embedding.embedding_dim, embedding.num_embeddings)
    nn.init.zeros_(output.bias)
    if tied:
        output.weight = embedding.weight
    return output


def initialise(*stacks: nn.Module) -> None:
    """Draw every matrix of these stacks by Xavier's rule.

    Source: Glorot and Bengio 2010.
    """
    for stack in stacks:
        for parameter in stack.parameters():
            if parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)
