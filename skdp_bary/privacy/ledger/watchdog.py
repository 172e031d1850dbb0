"""A time limit for a conversation over the network that has none of its own."""

import socket
import threading


class Watchdog:
    """Cut the connection that it guards when the time is over.

    Whoever waits for an answer on it then gets an error at once. The connection is cut below
    everything that is built on it, so that neither encryption nor a queue is in the way.

    Parameters
    ----------
    seconds : float
        From now on.

    Attributes
    ----------
    expired : bool
        Whether the time was over before :meth:`stop`.
    """

    def __init__(self, seconds):
        self.expired = False
        self._connection = None
        self._stopped = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def guard(self, connection):
        """Guard this connection, which has a ``fileno()``; at once when the time is over."""
        with self._lock:
            self._connection = connection
            if self.expired:
                _shut(connection)

    def stop(self):
        """Leave the connection alone from now on; it may be closed afterwards."""
        self._timer.cancel()
        with self._lock:
            self._stopped = True

    def _cut(self):
        with self._lock:
            if self._stopped:
                return
            self.expired = True
            if self._connection is not None:
                _shut(self._connection)


def _shut(connection):
    try:
        end = socket.socket(fileno=connection.fileno())
    except Exception:  # closed already, in the words of whatever library it belongs to
        return
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    finally:
        end.detach()  # its owner closes it
