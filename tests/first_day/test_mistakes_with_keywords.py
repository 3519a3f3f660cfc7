"""Mistakes of a first day: keywords."""

from __future__ import annotations

import numpy as np
import pytest
from mistakes import Mistake, check

import gpuprims
from gpuprims import errors

X = np.arange(6.0).reshape(2, 3)

MISTAKES: dict[str, Mistake] = {
    "axes in reduce": (
        lambda: gpuprims.reduce(X, axes=1), errors.UnknownKeywordError,
        ("keywords among op, map, axis,", "axes", "did you mean 'axis'?"),
    ),
    "operator keyword": (
        lambda: gpuprims.reduce(X, operator="max"), errors.UnknownKeywordError,
        ("keywords among op, map, axis,", "operator", "did you mean 'op'?"),
    ),
    "keepdim of torch": (
        lambda: gpuprims.reduce(X, axis=0, keepdim=True), errors.UnknownKeywordError,
        ("keywords among op, map, axis,", "keepdim", "did you mean 'keepdims'?"),
    ),
    "dim of torch": (
        lambda: gpuprims.reduce(X, dim=0), errors.UnknownKeywordError,
        ("keywords among op, map, axis,", "dim", "did you mean 'axis'?"),
    ),
    "exclusive in scan": (
        lambda: gpuprims.scan(X, exclusive=True), errors.UnknownKeywordError,
        ("keywords among op, map,", "exclusive", "write inclusive=False"),
    ),
    "weight in histogram": (
        lambda: gpuprims.histogram(X, weight=X), errors.UnknownKeywordError,
        ("keywords among x, bins, range,", "weight", "did you mean 'weights'?"),
    ),
    "nbins in histogram": (
        lambda: gpuprims.histogram(X, nbins=5), errors.UnknownKeywordError,
        ("keywords among x, bins, range,", "nbins", "did you mean 'bins'?"),
    ),
    "density typo": (
        lambda: gpuprims.histogram(X, densty=True), errors.UnknownKeywordError,
        ("keywords among x, bins, range,", "densty", "did you mean 'density'?"),
    ),
    "minlen in bincount": (
        lambda: gpuprims.bincount([1], minlen=4), errors.UnknownKeywordError,
        ("keywords among x, weights,", "minlen", "did you mean 'minlength'?"),
    ),
    "sigm in blur": (
        lambda: gpuprims.blur(X, "gaussian", sigm=2), errors.UnknownKeywordError,
        ("keywords among image, kind, size,", "sigm", "did you mean 'sigma'?"),
    ),
    "boundary in stencil": (
        lambda: gpuprims.stencil(X, [1, 2, 1], boundary="wrap"), errors.UnknownKeywordError,
        ("keywords among x, weights, mode,", "boundary", "did you mean 'mode'?"),
    ),
    "devic in map": (
        lambda: gpuprims.map("x", X, devic="cpu"), errors.UnknownKeywordError,
        ("keywords among out, vector_axis,", "devic", "did you mean 'device'?"),
    ),
    "name the string lacks": (
        lambda: gpuprims.map("a*x", X, b=2), errors.UnknownKeywordError,
        ("keywords among out, vector_axis,", "b"),
    ),
    "unknown keyword in plan": (
        lambda: gpuprims.plan("reduce", X, opp="max"), errors.UnknownKeywordError,
        ("keywords among op, map, axis,", "opp", "did you mean 'op'?"),
    ),
    "unknown keyword in plan of map": (
        lambda: gpuprims.plan("map", "x+1", X, varient="grid"), errors.UnknownKeywordError,
        ("keywords among out, vector_axis,", "varient", "did you mean 'variant'?"),
    ),
    "unknown keyword in plan of histogram": (
        lambda: gpuprims.plan("histogram", X, bin=4), errors.UnknownKeywordError,
        ("keywords among bins, range,", "bin", "did you mean 'bins'?"),
    ),
    "variable of another name": (
        lambda: gpuprims.map(lambda x, y: x + y, X, z=X), errors.UnknownKeywordError,
        ("keywords among out, vector_axis,", "z"),
    ),
    "on of pandas' merge": (
        lambda: gpuprims.merge(X[0], X[1], on="a"), errors.UnknownKeywordError,
        ("merge: keywords among a, b,", "on", "searchsorted finds the rows of a table"),
    ),
    "order of numpy's sort": (
        lambda: gpuprims.sort(X, order="a"), errors.UnknownKeywordError,
        ("sort: keywords among x, axis,", "order", "by several arrays with lexsort"),
    ),
    "kind of numpy's sort": (
        lambda: gpuprims.sort(X, kind="stable"), errors.UnknownKeywordError,
        ("sort: keywords among x, axis,", "kind", "leave it out: every sort is stable"),
    ),
    "cmp of Python 2's sort": (
        lambda: gpuprims.sort(X, cmp=lambda a, b: a < b), errors.UnknownKeywordError,
        ("sort: keywords among x, axis,", "cmp", "did you mean 'less'?"),
    ),
    "on in sort": (
        lambda: gpuprims.sort(X, on="a"), errors.UnknownKeywordError,
        ("sort: keywords among x, axis,", "on", "write device="),
    ),
    "kind of numpy's partition": (
        lambda: gpuprims.partition(X, 1, kind="introselect"), errors.UnknownKeywordError,
        ("partition: keywords among x, kth,", "kind", "variant= chooses the kernel"),
    ),
    "sorted of torch's topk": (
        lambda: gpuprims.top_k(X, 2, sorted=False), errors.UnknownKeywordError,
        ("top_k: keywords among x, k, axis,", "sorted", "the result is sorted"),
    ),
    "sorted of numpy's unique": (
        lambda: gpuprims.unique(X, sorted=False), errors.UnknownKeywordError,
        ("unique: keywords among x,", "sorted", "the result is sorted"),
    ),
    "sort of pandas' groupby": (
        lambda: gpuprims.group_by([1, 2], [1, 2], sort=False), errors.UnknownKeywordError,
        ("group_by: keywords among keys, op,", "sort", "the groups are sorted"),
    ),
    "keepdim of torch's topk": (
        lambda: gpuprims.top_k(X, 2, axis=1, keepdim=True), errors.UnknownKeywordError,
        ("top_k: keywords among x, k, axis,", "keepdim", "the result has all axes of the array"),
    ),
    "dim of torch's unique_consecutive": (
        lambda: gpuprims.unique_consecutive(X, dim=0), errors.UnknownKeywordError,
        ("unique_consecutive: keywords among", "dim", "elements are taken in C order"),
    ),
    "dim in sort": (
        lambda: gpuprims.sort(X, dim=0), errors.UnknownKeywordError,
        ("sort: keywords among x, axis,", "dim", "did you mean 'axis'?"),
    ),
    "axis in map": (
        lambda: gpuprims.map("x + 1", X, axis=0), errors.UnknownKeywordError,
        ("map: keywords among out,", "axis", "each element is computed by itself"),
    ),
    "axis in blur": (
        lambda: gpuprims.blur(X, axis=0), errors.UnknownKeywordError,
        ("blur: keywords among image, kind,", "axis", "ndimage.gaussian_filter and uniform_filter take axes="),
    ),
    "axis in stencil": (
        lambda: gpuprims.stencil(X, [1, 2, 1], axis=0), errors.UnknownKeywordError,
        ("stencil: keywords among x, weights,", "axis", "the weights decide: they have as many axes"),
    ),
    "axis beside a function in compact": (
        lambda: gpuprims.compact(X, "x > 0", axis=0), errors.ArgumentError,
        ("compact: with axis=, a mask of bools", "a function", "compute it by map"),
    ),
    "where in scan": (
        lambda: gpuprims.scan(X[0], op="max", where=X[0] > 1), errors.ArgumentError,
        ("scan with max: initial= beside where=, because the mask may leave nothing", "where= alone"),
    ),
    "dtype in map": (
        lambda: gpuprims.map("x + 1", X, dtype="float32"), errors.UnknownKeywordError,
        ("map: keywords among out,", "dtype", "as in 'float32(x + 1)'"),
    ),
    "dtype in sort": (
        lambda: gpuprims.sort(X, dtype="float32"), errors.UnknownKeywordError,
        ("sort: keywords among x, axis,", "dtype", "convert the array: x.astype(dtype)"),
    ),
    "where in reduce": (
        lambda: gpuprims.reduce(X, op="max", where=X > 1), errors.ArgumentError,
        ("reduce with max: initial= beside where=, because the mask may leave nothing", "where= alone"),
    ),
    "where in map": (
        lambda: gpuprims.map("x + 1", X, where=X > 1), errors.UnknownKeywordError,
        ("map: keywords among out,", "where", "write where(condition, a, b) in the function"),
    ),
    "initial in reduce": (
        lambda: gpuprims.reduce(X, op="mean", initial=5), errors.ArgumentError,
        ("reduce with mean: no initial=, because a result is computed after the fold", "got 5"),
    ),
    "init in scan": (
        lambda: gpuprims.scan(X, init=5), errors.UnknownKeywordError,
        ("scan: keywords among op, map,", "init", "did you mean 'initial'?"),
    ),
    "initial in group_by": (
        lambda: gpuprims.group_by([1, 2], [1, 2], initial=5), errors.UnknownKeywordError,
        ("group_by: keywords among", "initial", "as in result + initial"),
    ),
    "op in cumsum": (
        lambda: gpuprims.cumsum(X, op="max"), errors.UnknownKeywordError,
        ("cumsum: keywords among x, axis,", "op", "write scan(x, op=...)"),
    ),
    "reverse in cumsum": (
        lambda: gpuprims.cumsum(X, reverse=True), errors.UnknownKeywordError,
        ("cumsum: keywords among x, axis,", "reverse", "write scan(x, reverse=True)"),
    ),
    "min and max in histogram": (
        lambda: gpuprims.histogram(X, min=0, max=1), errors.UnknownKeywordError,
        ("histogram: keywords among x, bins,", "min, max", "write range=(min, max)"),
    ),
    "normed in histogram": (
        lambda: gpuprims.histogram(X, normed=True), errors.UnknownKeywordError,
        ("histogram: keywords among x, bins,", "normed", "did you mean 'density'?"),
    ),
    "out in the array API": (
        lambda: gpuprims.xp.sum(X, out=X), errors.UnknownKeywordError,
        ("xp.sum: keywords among axis,", "out", "out[...] = ..."),
    ),
    "order in blur": (
        lambda: gpuprims.blur(X, "gaussian", sigma=1, order=1), errors.UnknownKeywordError,
        ("blur: keywords among image, kind,", "order", "derivatives as weights of stencil"),
    ),
    "interpolation in percentile": (
        lambda: gpuprims.percentile(X, 50, interpolation="lower"), errors.UnknownKeywordError,
        ("percentile: keywords among x, q,", "interpolation", "did you mean 'method'?"),
    ),
    "weights in quantile": (
        lambda: gpuprims.quantile(X, 0.5, weights=X), errors.UnknownKeywordError,
        ("quantile: keywords among x, q,", "weights", "run_length_decode(x, weights)"),
    ),
    "overwrite_input in median": (
        lambda: gpuprims.median(X, overwrite_input=True), errors.UnknownKeywordError,
        ("median: keywords among x, axis,", "overwrite_input", "arrays are not overwritten"),
    ),
    "stream of cupy": (
        lambda: gpuprims.reduce(X, stream=None), errors.UnknownKeywordError,
        ("reduce: keywords among op, map,", "stream", "the current stream of the array's library"),
    ),
    "axis of numpy's unique": (
        lambda: gpuprims.unique(X, axis=0), errors.AxisError,
        ("unique: axis=None only", "0", "number them first"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_says_the_rule_what_was_got_and_what_to_do(name: str) -> None:
    check(MISTAKES[name])
