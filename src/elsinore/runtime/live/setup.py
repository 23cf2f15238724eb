"""The setup of a live run: planned once from a workload, and pickled to all buckets.

A `LiveSetup` is planned on the driver from a plan and the schema of the events. It has one
`PassSetup` for each pass, i.e. for units with the same key; a `Bucket` needs its pass's alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from elsinore.arrow import no_table
from elsinore.errors import QuerySemanticError, raise_errors
from elsinore.model.clock import largest_time
from elsinore.operators import OperatorOptions, ResultForm, bind, kind_for, specialize
from elsinore.plan import Plan, Unit
from elsinore.plan.unit import fingerprint
from elsinore.runtime.columnar import Layout
from elsinore.runtime.fields import derived_names, schema_with_derived
from elsinore.runtime.finishing import Finish, Outputs
from elsinore.runtime.live.events import EventReader, attribute_types, time_kind
from elsinore.runtime.options import RunOptions
from elsinore.runtime.schema import plain_type, schema_of
from elsinore.runtime.times import TimeKind
from elsinore.runtime.travelling import travelling


@dataclass(frozen=True, slots=True, kw_only=True)
class PassSetup:
    """Units with the same key, and the columns in which their events and partial outputs travel.

    `layout` has the columns of travelling events (`elsinore.runtime.travelling`), `types` the types
    of the attributes that each unit carries, `outputs` the columns of partial outputs. `options`
    are those of operators, `orders` the layout's columns that order simultaneous events.
    """

    units: tuple[Unit, ...]
    layout: Layout
    types: tuple[dict[str, pa.DataType], ...]
    outputs: Outputs
    options: OperatorOptions
    orders: tuple[str, ...]

    @property
    def group_columns(self) -> int:
        """The number of the first columns of a key that are its group."""
        return len(self.units[0].group_by)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the pass's queries."""
        return tuple(name for unit in self.units for name in unit.names)

    def finishes(self) -> list[Finish]:
        """Return the objects that compute the results of each family of queries."""
        return [
            Finish(unit, tuple(family), types)
            for unit, types in zip(self.units, self.types, strict=True)
            for family in kind_for(unit).families(unit)
        ]

    def forms(self) -> dict[int, ResultForm]:
        """Return the form of each query's result, by the query's number in the workload."""
        group_types = [field.type for field in self.layout.keys][: self.group_columns]
        return {
            number: kind_for(unit).result(unit, place, group_types, types)
            for unit, types in zip(self.units, self.types, strict=True)
            for place, number in enumerate(unit.queries)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSetup:
    """The plan of a live run over events of a schema.

    `schema` is that of the input events, `names` are the queries' names by number, `time` is the
    kind of times in results, `options` are those for reading events, `fields` the names of
    attributes that may be fields of structs.
    """

    passes: tuple[PassSetup, ...]
    names: tuple[str, ...]
    schema: pa.Schema
    options: RunOptions
    time: TimeKind
    fields: tuple[str, ...] = ()

    def reader(self) -> EventReader:
        """Return the reader of events of this schema, for all passes."""
        units = tuple(of_pass.units for of_pass in self.passes)
        return EventReader(
            schema=self.schema, options=self.options, passes=units, fields=self.fields
        )


def plan_live(
    plan: Plan, schema: pa.Schema, options: RunOptions, *, declared: bool = False
) -> LiveSetup:
    """Plan a live run of a workload over events of a schema.

    `plan` and `options` are timed (`Workload.timed`). With `declared`, the types of all results
    must be known before the run, as on Spark.

    Raises the errors of queries that do not fit the schema, and of those that cannot run live.
    """
    fields = derived_names(plan.workload)
    full_schema = schema_with_derived(schema, fields)
    bind(plan.workload, schema_of(full_schema).with_ticks(dict(options.clock.numeric_times)))
    refuse_batch_queries(plan)
    plan = specialize(plan, attribute_types(full_schema, options), declared=declared)
    furthest = min(options.largest_time, largest_time(query.window for query in plan.workload))
    options = replace(options, largest_time=furthest)
    units = [tuple(plan.units[number] for number in numbers) for numbers in plan.passes]
    reader = EventReader(schema=schema, options=options, passes=tuple(units), fields=fields)
    _, nothing = reader.read(no_table(schema))
    passes = [
        _planned_pass(pass_units, events.schema, attribute_types(full_schema, options), options)
        for pass_units, events in zip(units, nothing, strict=True)
    ]
    names = tuple(query.name for query in plan.workload)
    time = time_kind(schema, options)
    return LiveSetup(
        passes=tuple(passes),
        names=names,
        schema=schema,
        options=options,
        time=time,
        fields=fields,
    )


def column_meanings(setup: PassSetup) -> list[str]:
    """Return the meaning of each of the layout's columns, independent of the pass's other units.

    In a saved state columns have these names, so that it is read by a setup with fewer units.
    """
    units = setup.units
    meanings = {f"class{n}": f"class for {', '.join(unit.names)}" for n, unit in enumerate(units)}
    for number, (source, travel) in enumerate(travelling(units)):
        name = source if isinstance(source, str) else fingerprint(source)
        meanings[f"c{number}"] = f"{name} as {travel.value}"
    columns = (*setup.layout.keys.names, *setup.layout.events.names)
    return [meanings.get(name, name) for name in columns]


def refuse_batch_queries(plan: Plan) -> None:
    """Raise the errors of queries that cannot run over a live stream (`Kind.streams`)."""
    errors = []
    for unit in plan.units:
        for place, why in kind_for(unit).streams(unit):
            query = plan.workload[unit.names[place]]
            message = f"This query cannot run over a live stream: {why}"
            errors.append(QuerySemanticError(message, span=query.span, query=query.name))
    raise_errors(errors)


def layout_of(travelling: pa.Schema) -> Layout:
    """Return the layout of travelling events: the columns `g0`, ... and `k0`, ... are the key's."""
    keys = [field for field in travelling if field.name[0] in "gk"]
    events = [field for field in travelling if field.name[0] not in "gk"]
    return Layout(pa.schema(keys), pa.schema(events))


def _planned_pass(
    units: tuple[Unit, ...],
    travelling: pa.Schema,
    attributes: Mapping[str, pa.DataType],
    options: RunOptions,
) -> PassSetup:
    """Return the setup of a pass from its units and travelling columns."""
    plain = pa.schema([(field.name, plain_type(field.type)) for field in travelling])
    types = tuple({name: plain_type(attributes[name]) for name in unit.carried} for unit in units)
    return PassSetup(
        units=units,
        layout=layout_of(plain),
        types=types,
        outputs=Outputs(units, types),
        options=OperatorOptions(ordered=bool(options.order_by), sharing=options.sharing),
        orders=tuple(f"o{n}" for n in range(len(options.order_by))),
    )
