from answers import wrong


wrong("doubling_reach", "the product instead of the sum: 3 to the power of 4")(81)
wrong("doubling_reach", "the sum of the gaps, the last symbol itself not counted")(15)
wrong("doubling_reach", "one neighbour per layer on each side: 15 and itself")(16)

wrong("record_of_times", "E is the cause in the chapter, so it counts")("ACE")
wrong("record_of_times", "D generalises the seven lengths")("ACD")
wrong("record_of_times", "doubling the words doubles it at least, from theory")("ABC")
