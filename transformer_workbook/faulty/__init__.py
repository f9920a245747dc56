"""Models and trainers with a bug, for a chapter in which bugs are found."""
