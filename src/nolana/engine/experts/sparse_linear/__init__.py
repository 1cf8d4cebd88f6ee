"""A linear model of wide sparse rows, and the sketch of such a row."""
