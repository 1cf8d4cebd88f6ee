"""The text parsers."""
