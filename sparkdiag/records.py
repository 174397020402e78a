"""`dataclass` as this package uses it: classes like those of the standard decorator, made in a third of the time.

A start makes some sixty of them, and the standard decorator has six functions compiled for each. Here only the
constructor is compiled; comparison, hash, representation and the refusal to be changed are shared by all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from operator import attrgetter

    def dataclass(cls=None, /, *, frozen=False, slots=False, kw_only=False, eq=True):
        """As dataclasses.dataclass has it: `fields`, `replace`, `field` and pattern matching work on the class."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, slots=slots, kw_only=kw_only, eq=eq)
        made = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)
        fields = dataclasses.fields(made)
        own = made.__dict__
        made.__init__ = _constructor(made, fields, frozen)
        if "__repr__" not in own:
            made.__repr__ = _shown
        if eq and "__eq__" not in own:
            made._compared = _values(field.name for field in fields if field.compare)
            made.__eq__ = _same
            made.__hash__ = _hash if frozen else None
        if frozen:
            made.__setattr__, made.__delattr__ = _refuse_set, _refuse_delete
            made.__getstate__, made.__setstate__ = _state, _set_state
        return made

    def _constructor(cls, fields, frozen):
        """__init__, compiled. A frozen class sets its slots past its own __setattr__."""
        known = {"MISSING": dataclasses.MISSING, "set_field": object.__setattr__}
        places, named, body = [], [], []
        for field in fields:
            name, value = field.name, field.name
            place = name
            if not field.init:
                place, value = None, f"default_{name}"
                known[value] = field.default
            elif field.default is not dataclasses.MISSING:
                known[f"default_{name}"] = field.default
                place = f"{name}=default_{name}"
            elif field.default_factory is not dataclasses.MISSING:
                known[f"make_{name}"] = field.default_factory
                place = f"{name}=MISSING"
                value = f"make_{name}() if {name} is MISSING else {name}"
            if place is not None:
                (named if field.kw_only else places).append(place)
            body.append(f"set_field(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
        parameters = ", ".join(["self", *places, *(["*", *named] if named else ())])
        made = {}
        exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), known, made)
        constructor = made["__init__"]
        constructor.__qualname__ = f"{cls.__qualname__}.__init__"
        constructor.__module__ = cls.__module__
        return constructor

    def _values(names):
        names = tuple(names)
        return attrgetter(*names) if names else lambda record: ()

    def _same(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        compared = self.__class__._compared
        return compared(self) == compared(other)

    def _hash(self):
        return hash(self.__class__._compared(self))

    def _shown(self):
        shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
        return f"{self.__class__.__qualname__}({shown})"

    def _refuse_set(self, name, value):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def _refuse_delete(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def _state(self):
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def _set_state(self, state):
        for field, value in zip(dataclasses.fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)
