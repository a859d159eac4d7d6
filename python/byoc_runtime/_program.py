# SPDX-License-Identifier: Apache-2.0
"""Compiled models, and their runs."""
from __future__ import annotations

import copy
import ctypes
import html
import os
import sys
import threading
import traceback
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _arrays, _c
from ._errors import Error

_SIZE = _arrays.SIZE
_MOST_SHAPES = 1024                                        # of inputs whose output shapes are kept
_address = _arrays.address
_empty = _arrays.empty


class Tensor(NamedTuple):
    """An input or output of a program.

    Attributes:
        name: the name that the model has for it.
        dtype: numpy's name of its type, "float32"; "bfloat16" is in the package ml_dtypes.
        shape: the extents. Of an output whose extents a run counts: the largest ones.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]


class Options:
    """The handle byoc_options, for one call."""

    def __init__(self, library: _c.Library, values: Iterable[tuple[str, str]]) -> None:
        self._library = library
        self.handle = library.make("byoc_options_new")
        for name, value in values:
            library.check(library.byoc_options_set(self.handle, name.encode(), value.encode()))

    def __del__(self) -> None:
        self._library.byoc_options_free(self.handle)


class _Handle:
    """A handle of the library and what it needs; freed when Python drops it."""

    __slots__ = ("_free", "needs", "value")

    def __init__(self, value: int, free: Callable[[int], None], needs: Any) -> None:
        self.value = value
        self.needs = needs
        self._free = free

    def __del__(self) -> None:
        self._free(self.value)


class _Slot:
    """The memory of one run at a time: a context, and places for the tensors of a call."""

    __slots__ = ("_places", "context", "handle", "inputs", "outputs")

    def __init__(self, session: _Session, sharing: Optional[_Slot] = None) -> None:
        library = session.library
        if sharing is None:
            self.context = library.make("byoc_context_new", session.handle.value)
        else:
            self.context = library.make("byoc_context_new_sharing", session.handle.value, sharing.context)
        self.handle = _Handle(self.context, library.byoc_context_free, session.handle)
        self._places = (ctypes.c_char * (_SIZE * (session.n_in + session.n_out + 1)))()
        self.inputs = ctypes.addressof(self._places)
        self.outputs = self.inputs + _SIZE * session.n_in

    def place(self, arrays: Sequence[Any], at: int, held: list[Any]) -> int:
        """Returns the address of the DLTensors of `arrays`; more than one are copied to `at`."""
        if len(arrays) == 1:
            return _address(arrays[0], held)
        for k, array in enumerate(arrays):
            ctypes.memmove(at + k * _SIZE, _address(array, held), _SIZE)
        return at

    def lend(self, arrays: Sequence[Any], at: int, held: list[Any]) -> int:
        """As `place`, for one run: until it is over no tensor changes its shape."""
        functions = [_arrays.describer(type(array)) for array in arrays]
        if not any(functions):
            return self.place(arrays, at, held)
        for k, (function, array) in enumerate(zip(functions, arrays)):
            if function is None:
                ctypes.memmove(at + k * _SIZE, _address(array, held), _SIZE)
                continue
            try:
                function(array, at + k * _SIZE)
            except (BufferError, RuntimeError) as failure:
                raise _arrays.cannot_be_read(failure) from None
        return at


class _Session:
    """One size of a program, loaded for running. Any number of threads may use it."""

    def __init__(self, library: _c.Library, program: _Handle, k: int, options: Options) -> None:
        self.library = library
        handle = library.make("byoc_session_new", program.value, k, options.handle, None)
        self.handle = _Handle(handle, library.byoc_session_free, None)
        self.inputs = self._infos("input")
        self.outputs = self._infos("output")
        self.states = self._infos("state")                 # that each context has
        self.n_in, self.n_out = len(self.inputs), len(self.outputs)
        self.types = [_arrays.numpy_type_or_none(tensor.dtype) for tensor in self.outputs]
        self.counts = any(library.byoc_session_output_is_counted(handle, k) for k in range(self.n_out))
        self.is_open = bool(library.byoc_session_is_open(handle))  # for every size within bounds
        self.pool: list[_Slot] = []                        # of callers that are not running now
        self.known_shapes: dict[tuple[Any, ...], Sequence[tuple[int, ...]]] = {}  # outputs' by inputs', of an open program
        self.places = {tensor.name: at for at, tensor in enumerate(self.inputs)}
        self.externs: list[Any] = []                       # functions of Python that the session calls

    def _infos(self, kind: str) -> tuple[Tensor, ...]:
        out = []
        for k in range(getattr(self.library, f"byoc_session_{kind}_count")(self.handle.value)):
            info = _c.TensorInfo()
            self.library.check(
                getattr(self.library, f"byoc_session_{kind}")(self.handle.value, k, ctypes.byref(info)))
            out.append(Tensor(info.name.decode(), _arrays.type_name(info.dtype), tuple(info.shape[: info.ndim])))
        return tuple(out)

    def state_named(self, name: str) -> Optional[Tensor]:
        """Returns the state whose input or output has the name."""
        for k, tensor in enumerate(self.states):
            if name in (tensor.name, self.library.byoc_session_state_output(self.handle.value, k).decode()):
                return tensor
        return None

    @property
    def warnings(self) -> list[str]:
        count = self.library.byoc_session_warning_count(self.handle.value)
        return [self.library.byoc_session_warning(self.handle.value, k).decode() for k in range(count)]

    def fits(self, arrays: Sequence[Any]) -> bool:
        """True when the arrays have the shapes of this size, or sizes within the bounds of an open program."""
        if not self.is_open:
            return all(tuple(array.shape) == tensor.shape for array, tensor in zip(arrays, self.inputs))
        if any(len(array.shape) != len(tensor.shape) for array, tensor in zip(arrays, self.inputs)):
            return False
        held: list[Any] = []                               # owners of the memory until the call is over
        try:
            slot = self.pool.pop()
        except IndexError:
            slot = _Slot(self)
        try:
            error = self.library.byoc_context_take_inputs(slot.context, slot.lend(arrays, slot.inputs, held), self.n_in)
            if error:
                self.error_of(error)                       # which frees it
            return not error
        finally:
            self.pool.append(slot)

    def order(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Returns all inputs in the order of the session."""
        if len(inputs) > self.n_in:
            raise Error(f"{len(inputs)} inputs are given, the program has {self.n_in}", slug="input-count",
                        help=f"its inputs are {', '.join(self.places)}")
        out: list[Any] = [*inputs, *[None] * (self.n_in - len(inputs))]
        for name, value in named.items():
            at = self.places.get(name)
            if at is None:
                raise Error(f'the program has no input "{name}"', code=5, slug="input-count",
                            help=f"its inputs are {', '.join(self.places)}")
            if out[at] is not None:
                raise Error(f'the input "{name}" is given twice', slug="input-count")
            out[at] = value
        missing = [tensor.name for tensor, value in zip(self.inputs, out) if value is None]
        if missing:
            raise Error(f"inputs are missing: {', '.join(missing)}", slug="input-count", help=f"its inputs are {', '.join(self.places)}")
        return [_arrays.as_input(value, tensor.dtype) for tensor, value in zip(self.inputs, out)]

    def error_of(self, handle: int) -> Error:
        """Makes the exception of a run, with the next step in Python where the library has none."""
        error = self.library.error_of(handle)
        cures = {"input-dtype": "convert it, as with x.astype or x.to", "output-dtype": "give outputs of the program's types",
                 "input-shape": "its inputs are " + ", ".join(f"{one.name}: {one.dtype}{list(one.shape)}" for one in self.inputs)}
        return error if error.help else error.with_help(cures.get(error.slug, ""))

    def new_outputs(self, first: Any, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
        """Makes the outputs of a run whose first input is `first`, in the library of that tensor."""
        if first is not None and _arrays.is_torch(first):
            return [_arrays.torch_empty(shape, tensor.dtype) for shape, tensor in zip(shapes, self.outputs)]
        return [_empty(shape, dtype or _arrays.numpy_type(tensor.dtype))
                for shape, tensor, dtype in zip(shapes, self.outputs, self.types)]

    def shapes(self, context: int, inputs: int, arrays: Sequence[Any]) -> Sequence[tuple[int, ...]]:
        """Returns the shapes of the outputs of a run with these arrays, whose DLTensors are at that address."""
        if not self.is_open:
            return [tensor.shape for tensor in self.outputs]
        key = tuple([tuple(array.shape) for array in arrays])
        known = self.known_shapes.get(key)
        if known is not None:
            return known
        error = self.library.byoc_context_take_inputs(context, inputs, self.n_in)
        if error:
            raise self.error_of(error)
        out = [self.output_shape(context, k) for k in range(self.n_out)]
        if len(self.known_shapes) >= _MOST_SHAPES:
            self.known_shapes.clear()
        self.known_shapes[key] = out
        return out

    def outputs_for(self, arrays: Sequence[Any]) -> list[Any]:
        """Makes the outputs of a run with these inputs."""
        slot, held = _Slot(self), []                       # type: _Slot, list[Any]
        return self.new_outputs(arrays[0] if arrays else None,
                                self.shapes(slot.context, slot.lend(arrays, slot.inputs, held), arrays))

    def output_shape(self, context: int, k: int) -> tuple[int, ...]:
        """Returns the shape of output `k`, as the context has it."""
        shape, ndim = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_int32()
        self.library.check(
            self.library.byoc_context_output_shape(context, k, ctypes.byref(shape), ctypes.byref(ndim)))
        return tuple(shape[: ndim.value])

    def call(self, arrays: Sequence[Any]) -> list[Any]:
        """Runs with inputs in the session's order; returns new outputs."""
        if self.states:
            raise Error("the program has states, which belong to a bound program", code=9, slug="state-unbound",
                        help="bound = program.bind(x) has states of its own, and bound() runs with them")
        held: list[Any] = []                               # owners of the memory until the run is over
        try:
            slot = self.pool.pop()
        except IndexError:
            slot = _Slot(self)
        try:
            inputs_at = slot.lend(arrays, slot.inputs, held)
            outputs = self.new_outputs(arrays[0] if arrays else None, self.shapes(slot.context, inputs_at, arrays))
            outputs_at = slot.lend(outputs, slot.outputs, held)
            error = self.library.run(slot.context, inputs_at, self.n_in, outputs_at, self.n_out)
            if error:
                raise self.error_of(error)
            return self.shrunk(slot.context, outputs) if self.counts else outputs
        finally:
            self.pool.append(slot)

    def fast_call(self) -> Optional[Callable[[Any], Any]]:
        """Returns a function that runs a session of one input and one output with an array of numpy or a tensor of torch, as
        `call` does with all; None for other sessions. It raises NotATensor for values that need `call`.

        A call of a small program takes as long as the calls of Python around it: here are no more than it needs.
        """
        if self.n_in != 1 or self.n_out != 1 or self.counts or self.states or self.types[0] is None:
            return None
        run, pointer, ndarray, empty = self.library.run, _arrays.capsule_pointer, np.ndarray, _empty
        shape, dtype, pool, of_torch = self.outputs[0].shape, self.types[0], self.pool, self._fast_call_of_torch
        if dtype.name == "bfloat16":                       # numpy makes no capsule of it
            return None
        known = self.known_shapes if self.is_open else None

        def call(array: Any) -> Any:
            if type(array) is not ndarray:
                return of_torch(array)
            try:
                reads = array.__dlpack__()
            except BufferError:
                raise _arrays.NotATensor("") from None
            if known is None:
                output = empty(shape, dtype)
            else:                                          # `call` finds the shapes of a first run
                shapes = known.get((array.shape,))
                if shapes is None:
                    raise _arrays.NotATensor("")
                output = empty(shapes[0], dtype)
            writes = output.__dlpack__()
            try:
                slot = pool.pop()
            except IndexError:
                slot = _Slot(self)
            error = run(slot.context, pointer(reads, b"dltensor"), 1, pointer(writes, b"dltensor"), 1)
            pool.append(slot)
            if error:
                raise self.error_of(error)
            return output

        return call

    def _fast_call_of_torch(self, tensor: Any) -> Any:
        """As fast_call's function, for a tensor of torch."""
        describe = _arrays.describer(type(tensor))
        if self.is_open or describe is None or not _arrays.is_torch(tensor) or tensor.is_neg():
            raise _arrays.NotATensor("")
        output = _empty(self.outputs[0].shape, self.types[0])
        try:
            slot = self.pool.pop()
        except IndexError:
            slot = _Slot(self)
        try:
            describe(tensor, slot.inputs)
            writes = output.__dlpack__()
            error = self.library.run(slot.context, slot.inputs, 1, _arrays.capsule_pointer(writes, b"dltensor"), 1)
        except (BufferError, RuntimeError) as failure:
            raise _arrays.cannot_be_read(failure) from None
        finally:
            self.pool.append(slot)
        if error:
            raise self.error_of(error)
        return sys.modules["torch"].from_numpy(output)

    def shrunk(self, context: int, outputs: list[Any]) -> list[Any]:
        """Returns outputs with the extents that the last run counted; they share the memory."""
        out = []
        for k, array in enumerate(outputs):
            extents = self.output_shape(context, k)
            elements = 1
            for extent in extents:
                elements *= extent
            out.append(array if tuple(array.shape) == extents else array.reshape(-1)[:elements].reshape(extents))
        return out


def _extern(library: _c.Library, function: Callable[..., Any]) -> Any:
    """Makes a function for byoc_session_set_extern."""

    def call(user: Any, inputs: Any, n_in: int, outputs: Any, n_out: int) -> Optional[int]:
        try:
            function(*(_arrays.view(inputs[k], False) for k in range(n_in)),
                     *(_arrays.view(outputs[k], True) for k in range(n_out)))
            return None
        except BaseException:
            error: int = library.byoc_error_new(13, traceback.format_exc().encode())
            return error

    return _c.ExternFn(call)


def _check_outputs(session: _Session, outputs: Sequence[Any]) -> None:
    if len(outputs) != session.n_out:
        raise Error(f"{len(outputs)} outputs are given, the program has {session.n_out}", slug="output-count",
                    help=f"its outputs are {', '.join(tensor.name for tensor in session.outputs)}")
    for tensor, array in zip(session.outputs, outputs):
        if isinstance(array, np.ndarray) and not array.flags.writeable:
            raise Error(f'the array for "{tensor.name}" is read-only', slug="output-data", help="give a copy of it")


class Bound:
    """A program with the tensors of its runs: the way to run it without allocation. Made by `Program.bind`.

    One run at a time: a call while another thread runs it is an error.

    Attributes:
        inputs: the tensors that a run reads, in the order of the program.
        outputs: the tensors that a run writes, in the order of the program.
    """

    _slot: _Slot

    def __init__(self, session: _Session, inputs: list[Any], outputs: list[Any], states: Optional[Bound] = None) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self._held: list[Any] = []
        slot = _Slot(session, None if states is None else states._slot)
        self._slot = slot
        self._session = session
        self._lock = threading.Lock()
        self._acquire, self._release = self._lock.acquire, self._lock.release
        inputs_at = slot.place(inputs, slot.inputs, self._held)
        outputs_at = slot.place(outputs, slot.outputs, self._held)
        self._run = session.library.run
        self._arguments = (slot.context, inputs_at, session.n_in, outputs_at, session.n_out)
        self._result = self.outputs[0] if len(self.outputs) == 1 else self.outputs

    def __call__(self) -> Any:
        """Reads the inputs, runs, and writes the outputs.

        Returns:
            The output, or the tuple of outputs when there are several: the same objects at each call. Those of extents
            that a run counts are views of them.

        Raises:
            Error: as `Program.__call__`; slug "in-use" while another thread runs it.
        """
        if not self._acquire(False):
            raise Error("another thread runs it", code=9, slug="in-use", help="bind the program once per thread")
        try:
            error = self._run(*self._arguments)
            if error:
                raise self._session.error_of(error)
            if not self._session.counts:
                return self._result
            outputs = self._session.shrunk(self._slot.context, list(self.outputs))
            return outputs[0] if len(outputs) == 1 else tuple(outputs)
        finally:
            self._release()

    @property
    def states(self) -> tuple[Tensor, ...]:
        """What the program keeps from run to run, by the names of its inputs; all are zeros at first."""
        return self._session.states

    def get_state(self, name: str) -> Any:
        """Returns a copy of a state as an array of numpy.

        Raises:
            Error: slug "unknown-state"; "state-broken" after a run that failed in the middle; "state-in-use".
        """
        known = self._session.state_named(name)
        array = np.empty(known.shape if known else 1, _arrays.numpy_type(known.dtype) if known else np.uint8)
        self._with_state("get", name, array)
        return array

    def set_state(self, name: str, value: Any) -> None:
        """Sets a state from a tensor of its type.

        Raises:
            Error: slug "unknown-state", "state-dtype", "state-shape", "state-in-use".
        """
        self._with_state("set", name, value)

    def reset_states(self) -> None:
        """Sets all states to zeros.

        Raises:
            Error: slug "unknown-state" for a program without any; "state-in-use".
        """
        library = self._session.library
        library.check(library.byoc_context_reset_states(self._slot.context))

    def _with_state(self, action: str, name: str, array: Any) -> None:
        library = self._session.library
        held: list[Any] = []                               # owners of the memory until the call is over
        function = getattr(library, f"byoc_context_{action}_state")
        library.check(function(self._slot.context, name.encode(), _address(array, held)))


class Program:
    """A compiled model, of one size or several. Any number of threads may call it at a time.

    Made by `load`, and by `byoc.compile`.

    Attributes:
        entries: the names of the models in a file of several (byoc join): `entry` returns one. Empty for other files.
    """

    def __init__(self, library: _c.Library, handle: int, options: Sequence[tuple[str, str]] = ()) -> None:
        self._library = library
        self._handle = _Handle(handle, library.byoc_program_free, None)
        self._options = Options(library, options)
        names = [library.byoc_program_size_entry(handle, k).decode() for k in range(library.byoc_program_size_count(handle))]
        self.entries = list(dict.fromkeys(name for name in names if name))
        self._use(None, 0, 0 if len(self.entries) > 1 else len(names))

    def _use(self, entry: Optional[str], first: int, count: int) -> None:
        """Makes it the program of `count` sizes of the file from `first` on."""
        self._entry, self._first = entry, first
        self._sessions: list[Optional[_Session]] = [None] * count
        self._by_ranges = sorted(range(count), key=lambda k: self.sizes[k].count(".."))
        self._lock = threading.Lock()
        self._only = self._session(0) if count == 1 else None
        self._fast = self._only.fast_call() if self._only is not None else None

    # ---- what it is ----

    @property
    def sizes(self) -> list[str]:
        """The labels of its sizes, "N=4"; [""] for a program of one size."""
        return [self._library.byoc_program_size_label(self._handle.value, self._first + k).decode()
                for k in range(len(self._sessions))]

    def entry(self, name: str) -> Program:
        """Returns one of the models of a file of several, whose names are `entries`. It shares the file's weights.

        Raises:
            Error: slug "unknown-entry", with the names that there are.
        """
        first, count = ctypes.c_size_t(), ctypes.c_size_t()
        self._library.check(self._library.byoc_program_find_entry(
            self._handle.value, name.encode(), ctypes.byref(first), ctypes.byref(count)))
        out = copy.copy(self)
        out._use(name, first.value, count.value)
        return out

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The inputs of the first size, in order."""
        return self._session(0).inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The outputs of the first size, in order."""
        return self._session(0).outputs

    @property
    def warnings(self) -> list[str]:
        """What loading reported, such as a kernel that was made for another machine."""
        return self._session(0).warnings

    def size(self, label: str) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Returns the inputs and the outputs of the size with this label.

        Raises:
            Error: slug "no-such-size".
        """
        labels = self.sizes
        if label not in labels:
            raise Error(f'the program has no size "{label}"', code=5, slug="no-such-size", help=f"it has {', '.join(labels)}")
        session = self._session(labels.index(label))
        return session.inputs, session.outputs

    # ---- runs ----

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Runs the program.

        Args:
            inputs: tensors in the order of `inputs`: arrays of numpy, tensors of torch on the CPU, or objects with
                __dlpack__. They are read in place, with strides too. Lists and numbers are converted.
            named: further inputs, by name.

        Returns:
            The output, or the tuple of outputs when there are several, in new memory: tensors of torch when the first
            input is one, else arrays of numpy.

        Raises:
            Error: slug "input-count", "input-dtype", "input-shape", "input-data", "run-failed", ...
        """
        if self._fast is not None and len(inputs) == 1 and not named:
            try:
                return self._fast(inputs[0])
            except _arrays.NotATensor:
                pass
        session, arrays = self._chosen(inputs, named)
        outputs = session.call(arrays)
        return outputs[0] if session.n_out == 1 else tuple(outputs)

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Runs the program with inputs by name, and returns the outputs by name. Otherwise as `__call__`."""
        if not isinstance(inputs, Mapping):
            raise Error(f"run takes a dict of tensors by name, not {type(inputs).__name__}", slug="usage",
                        help="call the program with tensors in order: program(x)")
        session, arrays = self._chosen((), inputs)
        return {tensor.name: array for tensor, array in zip(session.outputs, session.call(arrays))}

    def bind(self, *inputs: Any, outputs: Any = None, size: Optional[str] = None, states: Optional[Bound] = None,
             **named: Any) -> Bound:
        """Fixes the tensors of runs, for loops in which microseconds count.

        Args:
            inputs: as for a call; without any, arrays of zeros are made, to be filled in place.
            outputs: the tensor that the output is written to, or a sequence of them; compact, of the program's types and
                shapes. Without it they are made as by a call.
            size: the label of the size, in a program of several, when no inputs are given.
            states: a bound program whose states it shares, such as that of the prompt; of the two, one runs at a time.
            named: further inputs, by name.

        Returns:
            A function without arguments that runs the program.

        Raises:
            Error: as for a call, at the first run at the latest.
        """
        if inputs or named:
            session, arrays = self._chosen(inputs, named)
        else:
            labels = self.sizes
            if size is not None and size not in labels:
                self.size(size)                            # reports it
            session = self._session(0 if size is None else labels.index(size))
            arrays = [_empty(tensor.shape, _arrays.numpy_type(tensor.dtype)) for tensor in session.inputs]
            for array in arrays:
                array[...] = 0
        if outputs is None:
            given = session.outputs_for(list(arrays))
        else:
            given = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
            _check_outputs(session, given)
        return Bound(session, list(arrays), given, states)

    def register(self, symbol: str, function: Callable[..., Any]) -> None:
        """Sets the function of an extern that the model calls, before the first run.

        Args:
            symbol: the name of the extern.
            function: called with the inputs and then the outputs as arrays of numpy; it writes the outputs in place. An
                exception ends the run with an error that has its text.

        Raises:
            Error: code "not-found" when the model calls no such extern.
        """
        callback = _extern(self._library, function)
        for k in range(len(self._sessions)):
            session = self._session(k)
            self._library.check(
                self._library.byoc_session_set_extern(session.handle.value, symbol.encode(), callback, None))
            session.externs.append(callback)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the program to a file, which `load` and the command byoc-run read: completely, or not at all."""
        self._library.check(self._library.byoc_program_save(self._handle.value, os.fsencode(path)))

    # ---- inside ----

    def _session(self, k: int) -> _Session:
        if not self._sessions:
            raise Error(f"the file has {len(self.entries)} models, and none is chosen", code=3, slug="artifact-entries",
                        help=f"program.entry(name) is one of them: {', '.join(self.entries)}")
        session = self._sessions[k]
        if session is None:
            with self._lock:
                session = self._sessions[k]
                if session is None:
                    session = _Session(self._library, self._handle, self._first + k, self._options)
                    self._sessions[k] = session
        return session

    def _chosen(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> tuple[_Session, Sequence[Any]]:
        """Returns the session of the size that fits, and all inputs in order."""
        arrays = [_arrays.shaped(array) for array in self._session(0).order(inputs, named)]
        if self._only is not None:
            return self._only, arrays
        for k in self._by_ranges:                          # exact sizes, then the label with the fewest ranges
            session = self._session(k)
            if session.fits(arrays):
                return session, arrays
        if session.is_open:                                # whose run names the size that is outside of its bounds
            return session, arrays
        shapes = ", ".join("x".join(map(str, array.shape)) for array in arrays)
        raise Error(f"the program has no size for inputs of {shapes}", slug="no-such-size",
                    help=f"it has {', '.join(self.sizes)}; compile it with this one too")

    def __repr__(self) -> str:
        if not self._sessions:
            return f"<byoc programs: {', '.join(self.entries)}>"
        lines = [f"<byoc program, {len(self._sessions)} sizes: {', '.join(self.sizes)}>" if self._only is None
                 else "<byoc program>"]
        for kind, tensors in (("input", self.inputs), ("output", self.outputs)):
            lines += [f"  {kind} {tensor.name}: {tensor.dtype}{list(tensor.shape)}" for tensor in tensors]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if not self._sessions:
            return f"<p>programs: {html.escape(', '.join(self.entries))}</p>"
        rows = "".join(
            f"<tr><td>{kind}</td><td>{html.escape(tensor.name)}</td><td>{tensor.dtype}</td>"
            f"<td>{' × '.join(map(str, tensor.shape))}</td></tr>"
            for kind, tensors in (("input", self.inputs), ("output", self.outputs)) for tensor in tensors)
        sizes = "" if self._only is not None else f"<p>sizes: {html.escape(', '.join(self.sizes))}</p>"
        return f"<table><tr><th></th><th>name</th><th>type</th><th>shape</th></tr>{rows}</table>{sizes}"
