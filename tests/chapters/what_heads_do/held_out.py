from answers import wrong


@wrong("head_damages", "a second name, not a copy")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(1) // num_heads
    damages = []
    for head in range(num_heads):
        cut = W
        cut[:, head * d : (head + 1) * d] = 0
        damages.append(loss(cut) - whole)
    return damages


@wrong("parts_of_the_stream", "rows of W as the block")
def _(x, A, V, W, h):
    heads = A @ V
    d = V.size(-1)
    parts = [heads[i] @ W[i * d : (i + 1) * d] for i in range(len(heads))]
    whole = x + sum(parts)
    return heads[h], parts[h], whole, whole - parts[h]


wrong("enough_sentences", "tenths mixed up: 1.3 is about 6/5")(30)
wrong("enough_sentences", "less than 1.1 of chance")(300)
wrong("enough_sentences", "the mean of the heads, which is at chance at once")(1)

wrong("said_by_the_record", "D follows from C")("ACDF")
wrong("said_by_the_record", "E by looking at three of five")("ACEF")
wrong("said_by_the_record", "B: takes the most frequent number for all")("ABCF")
