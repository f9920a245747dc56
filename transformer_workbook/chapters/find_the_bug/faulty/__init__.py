"""Models and trainers with a bug, for the chapter in which bugs are found."""
