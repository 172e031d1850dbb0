"""Epochs that can be watched, interrupted and continued."""

from __future__ import annotations

import sys
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

import torch


@dataclass(frozen=True)
class TrainingEvent:
    """What a callback is told after every epoch: public numbers only.

    Attributes
    ----------
    epoch : int
        Epochs done so far, over all calls.
    n_epochs : int
        Epochs after which this call ends.
    loss : float
        Mean of the training loss over the epoch.
    seconds : float
        Time since this call began.
    """

    epoch: int
    n_epochs: int
    loss: float
    seconds: float


class ProgressLine:
    """A callback that writes one line and overwrites it.

    Parameters
    ----------
    stream : text stream or None, default=None
        Where to write; the standard error stream by default.

    Examples
    --------
    >>> import sys
    >>> from skdp_bary.torch import ProgressLine, TrainingEvent
    >>> ProgressLine(sys.stdout)(TrainingEvent(epoch=5, n_epochs=5, loss=0.25, seconds=1.0))
    epoch 5 of 5, loss 0.25, 1 s
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream

    def __call__(self, event):
        """Write the event."""
        stream = sys.stderr if self.stream is None else self.stream
        last = event.epoch == event.n_epochs
        stream.write(
            f"\repoch {event.epoch} of {event.n_epochs}, loss {event.loss:.4g}, "
            f"{event.seconds:.0f} s" + ("\n" if last else "")
        )
        stream.flush()


class Training:
    """A network, its optimizer, its public randomness, and the loss of every epoch so far.

    Parameters
    ----------
    network : torch.nn.Module
    learning_rate : float
    seed : int
        Of the randomness of all epochs.
    """

    def __init__(self, network, learning_rate, seed):
        self.network = network
        self.optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
        self.rng_state = torch.Generator().manual_seed(seed).get_state()
        self.losses = []

    def set_learning_rate(self, learning_rate):
        """Go on with another learning rate."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate

    def run(self, step, n_epochs, **settings):
        """Train for more epochs on what is public by now.

        Parameters
        ----------
        step : callable
            Takes a torch.Generator and returns the loss of a new batch.
        n_epochs : int
            Epochs of this call.
        **settings
            See `asking`.
        """
        for _ in self.asking(_without_questions(step), n_epochs, **settings):
            pass

    def asking(self, step, n_epochs, *, n_steps, callback=None, patience=None, after_epoch=None):
        """Train for more epochs with questions in between: a generator of what the steps ask.

        Parameters
        ----------
        step : callable
            Takes a torch.Generator and returns a conversation that ends in the loss of a new batch.
        n_epochs, n_steps : int
            Epochs of this call, and steps of each.
        callback : callable or None
            Called with a TrainingEvent after every epoch; training stops where it returns True.
        patience : int or None
            Training stops after so many epochs without a new lowest loss.
        after_epoch : callable or None
            Called, without arguments, after every epoch.
        """
        rng = torch.Generator()
        rng.set_state(self.rng_state)
        started, last = time.monotonic(), len(self.losses) + n_epochs
        self.network.train()
        try:
            while len(self.losses) < last:
                loss = yield from self._epoch(step, rng, n_steps)
                self.losses.append(loss)
                self.rng_state = rng.get_state()
                if after_epoch is not None:
                    after_epoch()
                seconds = time.monotonic() - started
                event = TrainingEvent(len(self.losses), last, self.losses[-1], seconds)
                if callback is not None and callback(event) is True:
                    return
                if patience is not None and self._has_stalled(patience):
                    return
        finally:
            self.network.eval()

    @contextmanager
    def kept_when_interrupted(self, n_epochs):
        """Let an interrupt from the keyboard end the training inside, and nothing else.

        What it learns from has been paid for, and an interrupt must not lose it.

        Parameters
        ----------
        n_epochs : int
            That will be trained inside.
        """
        last = len(self.losses) + n_epochs
        try:
            yield
        except KeyboardInterrupt:
            warnings.warn(
                f"Training was interrupted after {len(self.losses)} of {last} epochs. What was "
                "released and the network as it is are kept.",
                RuntimeWarning,
                stacklevel=4,
            )

    def _epoch(self, step, rng, n_steps):
        total = 0.0
        for _ in range(n_steps):
            self.optimizer.zero_grad(set_to_none=True)
            loss = yield from step(rng)
            loss.backward()
            self.optimizer.step()
            total += float(loss.detach())
        return total / n_steps

    def _has_stalled(self, patience):
        best = min(range(len(self.losses)), key=self.losses.__getitem__)
        return len(self.losses) - 1 - best >= patience

    def state(self):
        """Return everything that the next epoch depends on, of plain types and tensors."""
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "rng": self.rng_state,
            "losses": list(self.losses),
        }

    def restore(self, state):
        """Go back to a state."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.rng_state = state["rng"]
        self.losses = list(state["losses"])
        self.network.eval()


def _without_questions(step):
    """Return the conversation of a step that asks nothing."""

    def conversation(rng):
        yield from ()
        return step(rng)

    return conversation


def seeded_network(make, seed):
    """Return a network whose first weights follow from a seed; torch's global state stays."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()
