"""Maps: rows to features."""
