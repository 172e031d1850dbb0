"""Losses, generators and adapters that train networks on releases; torch is imported when used."""

from importlib import import_module

_HOMES = {
    "ProgressLine": "skdp_bary.torch._training",
    "SlicedNetworkAdapter": "skdp_bary.torch._adapter",
    "SlicedNetworkGenerator": "skdp_bary.torch._generator",
    "SlicedQuantileLoss": "skdp_bary.torch._losses",
    "TrainingEvent": "skdp_bary.torch._training",
    "encode_rows": "skdp_bary.torch._encoding",
    "fixed_image_encoder": "skdp_bary.torch._encoding",
}

__all__ = list(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'skdp_bary.torch' has no attribute {name!r}")
    from .._optional import import_optional

    import_optional("torch", "torch", f"skdp_bary.torch.{name}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__():
    return sorted(__all__)
