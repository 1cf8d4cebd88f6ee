"""Effects of categories: a hash table with a weight for each value of a column."""
