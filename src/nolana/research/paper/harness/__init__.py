"""What every experiment is made of: cells and their runner, the data, published numbers, and the passes to measure."""
