"""The claims of the paper's text, one file for each: how it is measured, and when the answer is yes."""
