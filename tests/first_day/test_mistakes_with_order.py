"""Mistakes of a first day: sorts, selections, searches, merges and groups."""

from __future__ import annotations

import numpy as np
import pytest
from mistakes import Mistake, check

import gpuprims
from gpuprims import errors

X = np.arange(6.0).reshape(2, 3)
V, KEYS = np.arange(6.0), np.arange(6)

MISTAKES: dict[str, Mistake] = {
    "reverse of list.sort": (
        lambda: gpuprims.sort(V, reverse=True), errors.UnknownKeywordError,
        ("sort: keywords among x, axis,", "reverse", "write descending=True"),
    ),
    "ascending of pandas": (
        lambda: gpuprims.argsort(V, ascending=False), errors.UnknownKeywordError,
        ("argsort: keywords among x, axis,", "ascending", "write descending=True for ascending=False"),
    ),
    "kind of sort": (
        lambda: gpuprims.sort(V, kind="quicksort"), errors.UnknownKeywordError,
        ("sort: keywords among x, axis,", "kind"),
    ),
    "sort along an absent axis": (lambda: gpuprims.sort(X, axis=2), errors.AxisError, ("from -2 to 1", "2")),
    "sort along rows by name": (lambda: gpuprims.sort(X, axis="rows"), errors.AxisError, ("an int or None", "'rows'")),
    "descending a word": (
        lambda: gpuprims.sort(V, descending="yes"), errors.ArgumentError,
        ("sort: descending= True or False", "'yes'"),
    ),
    "stable a word": (
        lambda: gpuprims.argsort(V, stable="yes"), errors.ArgumentError, ("argsort: stable= True or False", "'yes'"),
    ),
    "keepdims a word": (
        lambda: gpuprims.median(V, keepdims="yes"), errors.ArgumentError, ("median: keepdims= True or False", "'yes'"),
    ),
    "sort of words": (
        lambda: gpuprims.sort(["b", "a"]), errors.DtypeError, ("sort: an array of numbers or bools", "dtype <U1"),
    ),
    "values too few": (
        lambda: gpuprims.sort_by_key(V, V[:3]), errors.ShapeError,
        ("sort_by_key: values of the keys' shape, (6,)", "(3,)"),
    ),
    "no values": (
        lambda: gpuprims.sort_by_key(V), errors.ArgumentError, ("sort_by_key: keys and one or more", "no values"),
    ),
    "one key of lexsort": (
        lambda: gpuprims.lexsort(V), errors.ShapeError,
        ("lexsort: keys of one axis and one length", "(for one key: argsort)"),
    ),
    "key of two elements": (
        lambda: gpuprims.sort(V, key=lambda a, b: a - b), errors.ArgumentError,
        ("sort: key= a function of one element", "(a, b)", "less= takes a comparison of two"),
    ),
    "a number for keys": (
        lambda: gpuprims.lexsort(3), errors.ArgumentError, ("lexsort: a sequence of keys, such as (second,", "3"),
    ),
    "nothing as indices": (
        lambda: gpuprims.take(V, None), errors.ArrayError, ("take: an array of numbers or bools", "NoneType None"),
    ),
    "a slice as indices": (
        lambda: gpuprims.take(V, slice(2)), errors.ArrayError, ("take: an array of numbers or bools", "slice(None, 2"),
    ),
    "a word as a key": (
        lambda: gpuprims.searchsorted(V, "a"), errors.ArrayError,
        ("searchsorted: an array of numbers or bools", "str 'a'"),
    ),
    "a word to look for": (
        lambda: gpuprims.isin(V, "a"), errors.ArrayError, ("isin: an array of numbers or bools", "str 'a'"),
    ),
    "k too large": (
        lambda: gpuprims.top_k(V, 7), errors.ArgumentError, ("top_k: k= at most 6, the number of elements", "7"),
    ),
    "k of half": (lambda: gpuprims.top_k(V, 2.5), errors.ArgumentError, ("top_k: k= an integer from 0 on", "2.5")),
    "k below zero": (lambda: gpuprims.top_k(V, -1), errors.ArgumentError, ("top_k: k= an integer from 0 on", "-1")),
    "smallest in top_k": (
        lambda: gpuprims.top_k(V, 2, smallest=True), errors.UnknownKeywordError,
        ("top_k: keywords among x, k,", "smallest", "write largest=False"),
    ),
    "complex top_k": (
        lambda: gpuprims.top_k(V + 1j, 2), errors.DtypeError, ("top_k: real elements", "complex128", "pass x.real"),
    ),
    "percents in quantile": (
        lambda: gpuprims.quantile(V, 50), errors.ArgumentError,
        ("quantile: q= from 0 to 1", "50", "(percentile takes percents)"),
    ),
    "no quantile": (
        lambda: gpuprims.quantile(V, None), errors.DtypeError,
        ("quantile: q= numbers from 0 to 1", "None"),
    ),
    "check of merge a word": (
        lambda: gpuprims.merge(V, V, check="yes"), errors.ArgumentError, ("merge: check= True or False", "'yes'"),
    ),
    "percentile above 100": (
        lambda: gpuprims.percentile(V, 150), errors.ArgumentError, ("percentile: q= from 0 to 100", "150"),
    ),
    "interpolation in quantile": (
        lambda: gpuprims.quantile(V, 0.5, interpolation="linear"), errors.UnknownKeywordError,
        ("quantile: keywords among x, q,", "interpolation", "did you mean 'method'?"),
    ),
    "method of quantile": (
        lambda: gpuprims.quantile(V, 0.5, method="liner"), errors.ArgumentError,
        ("quantile: method= among linear,", "'liner'", "did you mean 'linear'?"),
    ),
    "quantile of nothing": (
        lambda: gpuprims.quantile([], 0.5), errors.ShapeError, ("quantile: one element or more", "(0,)"),
    ),
    "kth too large": (
        lambda: gpuprims.partition(V, 6), errors.ArgumentError, ("partition: kth= integers from -6 to 5", "6"),
    ),
    "counts in unique": (
        lambda: gpuprims.unique(V, counts=True), errors.UnknownKeywordError,
        ("unique: keywords among x,", "counts", "did you mean 'return_counts'?"),
    ),
    "a word for a flag": (
        lambda: gpuprims.unique(V, "index"), errors.ArgumentError, ("unique: return_index= True or False", "'index'"),
    ),
    "a number for a flag": (
        lambda: gpuprims.unique_consecutive(V, 1), errors.ArgumentError,
        ("unique_consecutive: return_inverse= True or False", "1"),
    ),
    "unique rows": (lambda: gpuprims.unique(X, axis=0), errors.AxisError, ("unique: axis=None only", "0")),
    "search in a table": (
        lambda: gpuprims.searchsorted(X, V), errors.ShapeError, ("searchsorted: a sorted array of one", "(2, 3)"),
    ),
    "sorter of another array": (
        lambda: gpuprims.searchsorted(V, V, sorter=[9] * V.size), errors.IndicesError,
        ("searchsorted: sorter= indices of a", "[9, 9,", "as argsort(a) gives"),
    ),
    "sorter of floats": (
        lambda: gpuprims.searchsorted(V, V, sorter=V), errors.DtypeError,
        ("searchsorted: sorter= indices of a", "array([", "as argsort(a) gives"),
    ),
    "sorter a text": (
        lambda: gpuprims.searchsorted(V, V, sorter="quick"), errors.ArrayError,
        ("searchsorted: sorter= indices of a", "'quick'", "as argsort(a) gives"),
    ),
    "an array that is none beside a sorter": (
        lambda: gpuprims.searchsorted("abc", V, sorter=[0, 1, 2]), errors.ArrayError,
        ("searchsorted: an array of numbers", "str 'abc'"),
    ),
    "right of torch": (
        lambda: gpuprims.searchsorted(V, V, right=True), errors.UnknownKeywordError,
        ("searchsorted: keywords among a, v,", "right", "write side='right'"),
    ),
    "side in the middle": (
        lambda: gpuprims.searchsorted(V, V, side="middle"), errors.ArgumentError,
        ("searchsorted: side= 'left' or 'right'", "'middle'"),
    ),
    "indices of floats": (
        lambda: gpuprims.take(V, [1.5]), errors.DtypeError,
        ("take: integer indices", "float64", "pass indices.astype(np.int64)"),
    ),
    "an index outside": (
        lambda: gpuprims.take(V, [9]), errors.IndicesError, ("take: indices from -6 to 5", "indices[0] = 9", "mode="),
    ),
    "first unsorted in merge": (
        lambda: gpuprims.merge(V[::-1], V, check=True), errors.ArgumentError,
        ("merge: a in ascending order", "5.0 before 4.0 at index 0", "(sort it first)"),
    ),
    "second unsorted in merge": (
        lambda: gpuprims.merge(V, np.float64([1, 2, 5, 3, 4, 0]), check=True), errors.ArgumentError,
        ("merge: b in ascending order", "5.0 before 3.0 at index 2", "(sort it first)"),
    ),
    "merge of a table": (lambda: gpuprims.merge(V, X), errors.ShapeError, ("merge: arrays of one dimension", "(2, 3)")),
    "keys too few": (
        lambda: gpuprims.reduce(V, by=[1, 2]), errors.ShapeError, ("reduce: keys of the shape of the values", "(2,)"),
    ),
    "key for by": (
        lambda: gpuprims.reduce(V, key=KEYS), errors.UnknownKeywordError,
        ("reduce: keywords among op, map,", "key", "did you mean 'by'?"),
    ),
    "axis and by": (lambda: gpuprims.scan(V, by=KEYS, axis=0), errors.ArgumentError, ("scan: no axis= with by=", "0")),
    "agg of pandas": (
        lambda: gpuprims.group_by(KEYS, V, agg="mean"), errors.UnknownKeywordError,
        ("group_by: keywords among keys, op,", "agg", "did you mean 'op'?"),
    ),
    "operator by position": (
        lambda: gpuprims.group_by(KEYS, V, "mean"), errors.ArrayError,
        ("group_by: keys and values by position, op= by keyword", "'mean'", '(write op="mean")'),
    ),
    "keys that are words": (
        lambda: gpuprims.group_by(list("abcdef"), V), errors.DtypeError, ("group_by: an array of numbers", "dtype <U1"),
    ),
    "a word among elements": (
        lambda: gpuprims.isin(V, "abc"), errors.ArrayError, ("isin: an array of numbers or bools", "'abc'"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_says_the_rule_what_was_got_and_what_to_do(name: str) -> None:
    check(MISTAKES[name])
