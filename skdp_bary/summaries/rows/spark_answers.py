"""Answers of partitions on their way through Spark: a tree adds them up, and each counts once.

Spark runs a task again where it failed, lost its executor or was slow, and uses the output of one
run. That this was so is checked: an answer carries the number of its partition, and wherever
answers are added up, those numbers are different.
"""

import re

from ..._optional import import_optional

SCHEMA = "number long, answer binary"
FAN_IN = 16  # answers that are added up by one task
LEVELS = 2  # of such tasks; four thousand answers of a million partitions are left for the last
_KINDS = {kind.__name__: kind for kind in (ValueError, TypeError, RuntimeError)}
_MARK = "skdp_bary says: "  # of errors that quote no value
_OURS = re.compile(f"^({'|'.join(_KINDS)}): {_MARK}(.*)$", re.MULTILINE)


def of_partition(answer):
    """Return what ``mapInArrow`` calls to have ``answer(batches)``, bytes, of every partition."""

    def task(batches):
        from pyspark import TaskContext

        yield from _arrow(TaskContext.get().partitionId(), _marked(answer, batches)).to_batches()

    return task


def of_group(answer):
    """Return what ``applyInArrow`` calls to have ``answer([table])``, bytes, of every group."""

    def task(key, table):
        return _arrow(key[0].as_py(), _marked(answer, [table]))

    return task


def merged(answers, merge):
    """Return the sum of all answers, as bytes; None where there is no partition.

    Parameters
    ----------
    answers : pyspark.sql.DataFrame
        Of numbers and answers.
    merge : callable
        Returns the sum of an iterable of answers.
    """
    functions = import_optional("pyspark.sql.functions", "spark", "rows in Spark")

    def added(tables):
        return merge(each_once(tables))

    for _ in range(LEVELS):
        place = functions.shiftright("number", FAN_IN.bit_length() - 1)
        answers = answers.groupBy(place.alias("place")).applyInArrow(of_group(added), SCHEMA)
    answers = answers.repartition(1).mapInArrow(of_partition(added), SCHEMA)
    found = computed(answers).column("answer").to_pylist()
    return found[0] if found else None


def each_once(tables):
    """Yield the answers of tables, or batches, of numbers and answers; no number comes twice."""
    seen = set()
    for table in tables:
        number, answer = (table.column(name).to_pylist() for name in ("number", "answer"))
        for i in sorted(range(len(number)), key=number.__getitem__):
            if number[i] in seen:
                raise RuntimeError(
                    "Spark handed on two answers of one partition, so its rows would count twice. "
                    "Nothing was released."
                )
            seen.add(number[i])
            yield answer[i]


def _arrow(number, answer):
    arrow = import_optional("pyarrow", "spark", "rows in Spark")
    return arrow.table({"number": [number], "answer": [answer]})


def _marked(answer, tables):
    """Return an answer; errors that the package itself raises on a worker can be told from others.

    Those of engines and of other people's functions quote values of rows.
    """
    try:
        return answer(tables)
    except Exception as error:
        if type(error) not in _KINDS.values():
            raise
        problem = type(error)(f"{_MARK}{error}")
    raise problem


def computed(frame):
    """Return a frame as an Arrow table; what is wrong with rows is raised as it is elsewhere."""
    try:
        return frame.toArrow()
    except Exception as error:
        ours, kind = _OURS.findall(str(error)), type(error).__name__
    if ours:
        found, words = ours[-1]
        raise _KINDS[found](words)
    raise RuntimeError(
        f"Spark raised {kind} where it computed the rows, whose text may quote them and is not "
        "shown. Compute the frame without a fit to see it. Nothing was released."
    )
