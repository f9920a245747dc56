"""Text on its way to a model: cleaned, and as ids in flat arrays."""
