"""The Transformer, written by myself."""
