from answers import wrong


wrong("pre_norm_growth", "grows with the number of layers")(4)
wrong("pre_norm_growth", "the squared length, not the length")(16)
wrong("pre_norm_growth", "normalised anyway, so it stays")(1)


wrong("keeps_words_apart", "a factor for smaller matrices, not larger")(0.1)
wrong("keeps_words_apart", "the matrices as they were")(1)
wrong("keeps_words_apart", "twice as large, thought to be enough")(2)
