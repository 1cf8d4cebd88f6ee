"""What the paper claims in its text, one file for each claim: how it is measured, and when the answer is yes."""
