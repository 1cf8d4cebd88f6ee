"""Maps and heads, one folder or file for each expert."""
