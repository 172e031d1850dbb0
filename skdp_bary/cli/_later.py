"""What a command does is imported when it is asked for, so that help and errors come at once."""

from importlib import import_module


def later(module, name):
    """Return a function that calls one of a module of this folder, which is imported then."""

    def call(*given):
        return getattr(import_module(f".{module}", __package__), name)(*given)

    return call
