from dataclasses import replace

from annotated_transformer.costs import cost_of_pass
from transformer_workbook.chapters.what_a_token_costs import proofs


def cost():
    def heads_of_queries(config, *sizes, itemsize):
        """It keeps keys and values for every head of queries."""
        return cost_of_pass(replace(config, num_kv_heads=None), *sizes, itemsize=itemsize)

    proofs.cost(heads_of_queries, cost_of_pass)


REFUTED = {cost: "your function differs from PyTorch's FLOPs with the tensors' bytes by"}
