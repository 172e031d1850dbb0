"""What must be done once it is begun is not interrupted by the keyboard."""

import signal
import threading
from contextlib import contextmanager


@contextmanager
def uninterrupted():
    """Let requests to stop wait: a release that is paid for is written first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = []
    before = {
        number: signal.signal(number, lambda number, _: asked.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in asked:
            signal.raise_signal(number)
