"""What every part of the engine builds on: state as data, bounds of arguments, random draws."""
