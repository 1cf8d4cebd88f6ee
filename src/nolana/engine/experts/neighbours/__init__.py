"""The most recent rows; the nearest of them vote."""
