"""Counting rows: one sketch, however the rows come, identical integers."""

from joblib import Parallel, delayed, effective_n_jobs

from ..._optional import import_optional
from ..moments.bounds import Count
from ..rows.dask import DaskSource, merge_on_workers
from .query import Sketch


def collect(query, rows):
    """Return the sketch of `query` over all rows.

    Parts are counted one after another, or by joblib workers inside
    ``joblib.parallel_config(n_jobs=...)``, or where they are, by Dask workers. Only sketches
    travel.
    """
    source = rows.source
    if isinstance(source, DaskSource):
        return _collect_dask(query, source)
    workers = min(effective_n_jobs(None), source.n_parts)
    if workers == 1:
        return _count_parts(query, source, range(source.n_parts))
    shares = [range(start, source.n_parts, workers) for start in range(workers)]
    sketches = Parallel()(delayed(_count_parts)(query, source, share) for share in shares)
    total = Sketch(query)
    for sketch in sketches:
        total.merge(sketch)
    return total


def require_readable(rows):
    """Raise where rows cannot be read, before anything is charged; nothing else comes of it."""
    collect(Count(rows.person_units), rows)


def _count_parts(query, source, parts):
    sketch = Sketch(query)
    for part in parts:
        for chunk in source.read(part):
            sketch.update(chunk)
    return sketch


def _collect_dask(query, source):
    dask = import_optional("dask", "dask", "rows on a cluster")
    public = dask.delayed(query, pure=False, traverse=False)  # once in the graph
    merge = dask.delayed(_merge_packed, pure=False)
    packed = source.on_every_part(_count_partition, public)
    return Sketch(query).add_packed(merge_on_workers(packed, lambda few: merge(public, few)))


def _count_partition(query, reader, *part):
    """Return the packed integers of one partition (runs on a worker)."""
    sketch, chunk = Sketch(query), reader.chunk(*part)
    return (sketch.update(chunk) if len(chunk.X) else sketch).packed()


def _merge_packed(query, parts):
    """Return the sum of packed integers, which stay as they are: a task may run twice."""
    total = Sketch(query)
    for packed in parts:
        total.add_packed(packed)
    return total.packed()
