"""The version of this package; everything that must name it takes it from here."""

__version__ = "0.3.0.dev0"
