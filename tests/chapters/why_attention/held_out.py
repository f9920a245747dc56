from answers import wrong


wrong("doubling_reach", "the product instead of the sum: 3 to the power of 4")(81)
wrong("doubling_reach", "the sum of the gaps, the last symbol itself not counted")(15)
wrong("doubling_reach", "one neighbour per layer on each side: 15 and itself")(16)

wrong("record_of_times", "E is the cause in the chapter, so it counts")("ACE")
wrong("record_of_times", "D generalises the seven lengths")("ACD")
wrong("record_of_times", "doubling the words doubles it at least, from theory")("ABC")


@wrong("multiplications", "recurrence and convolution for one word only")
def _(n, d, k):
    return 2 * n * n * d, 2 * d * d, k * d * d


@wrong("path_length", "asks only whether the first output has the last input")
def _(may_read):
    reached = may_read.long()
    for depth in range(1, len(may_read) + 1):
        if reached[0, -1]:
            return depth
        reached = (reached @ may_read.long()).clamp(max=1)
