"""The lock of every ledger of this process."""

import os
import threading

# One lock for every ledger of the process. Charges are short and rare next to the fits they
# precede, and with a single lock a fork can wait until no charge is under way, so that a child
# never inherits a held lock or a half-used database.
LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
    )
