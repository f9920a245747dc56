"""New form (in construction)."""
