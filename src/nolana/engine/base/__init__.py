"""What every part of the engine stands on: state as data, bounds of arguments, random draws."""
