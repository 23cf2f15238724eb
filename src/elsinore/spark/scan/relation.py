"""Recognizing data frames whose plan is only a scan of Parquet files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812

from elsinore.spark.scan.catalyst import Node, condition_of, tree_of
from elsinore.spark.scan.conditions import Condition, Conjunction, NotSimpleError, columns_of

# These exact classes: subclasses, such as Delta's, ignore some rows of their files.
_PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_PLAIN_INDEX = "org.apache.spark.sql.execution.datasources.InMemoryFileIndex"
_OPERATORS = ("Project", "Filter", "LogicalRelation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A data frame that is a scan: the files, the source of each column, and the condition.

    `files` are URIs; `columns` maps the frame's columns to names in the files; `types` are Spark's,
    by the files' names; `folders` are partition columns (folders named `column=value`);
    `condition` is over the files' names, or None.
    """

    files: tuple[str, ...]
    columns: dict[str, str]
    types: dict[str, T.DataType]
    folders: tuple[str, ...]
    condition: Condition | None

    @property
    def condition_reads(self) -> frozenset[str]:
        """The columns that the condition reads, by the files' names."""
        return frozenset() if self.condition is None else columns_of(self.condition)


def relation_of(frame: DataFrame) -> Relation:
    """Return the scan that a data frame consists of.

    Raises NotSimpleError, with the reason, if its plan contains more than projections and simple
    filters of Parquet files.
    """
    try:
        optimized = frame._jdf.queryExecution().optimizedPlan()
        nodes = json.loads(optimized.toJSON())
    except (PySparkException, AttributeError, TypeError) as error:
        raise NotSimpleError("Spark Connect does not show plans") from error
    except Py4JError as error:
        raise NotSimpleError("its plan cannot be read") from error
    root = tree_of(nodes)
    relation, chain = optimized, [root]
    filters = []  # the Java objects, in the order of `chain`
    while chain[-1].children:
        if chain[-1].kind not in _OPERATORS or len(chain[-1].children) != 1:
            raise NotSimpleError(f"its plan has a {chain[-1].kind}")
        if chain[-1].kind == "Filter":
            filters.append(relation.condition())
        chain.append(chain[-1].children[0])
        relation = relation.children().apply(0)
    if chain[-1].kind != "LogicalRelation":
        raise NotSimpleError(f"it comes from a {chain[-1].kind}")
    source = relation.relation()
    if source.getClass().getSimpleName() != "HadoopFsRelation":
        raise NotSimpleError("it does not come from files")
    if source.fileFormat().getClass().getName() != _PARQUET:
        raise NotSimpleError("its files are not Parquet")
    if source.location().getClass().getName() != _PLAIN_INDEX:
        raise NotSimpleError("a table format knows its files")
    names = {_id(node): str(node.fields["name"]) for node in _attributes(chain[-1], "output")}
    condition: Condition | None = None
    for node in reversed(chain[:-1]):
        if node.kind == "Filter":
            tree = tree_of(node.fields["condition"], filters.pop())
            part = condition_of(tree, partial(_name, names))
            condition = part if condition is None else Conjunction(condition, part)
        else:
            names = _projected(node, names)
    visible = {}
    for field, attribute in zip(frame.schema.fields, _outputs(chain[0]), strict=True):
        visible[field.name] = names[_id(attribute)]
    whole = T.StructType.fromJson(json.loads(source.schema().json()))
    folders = tuple(source.partitionSchema().fieldNames())
    return Relation(
        files=tuple(frame.inputFiles()),
        columns=visible,
        types={field.name: field.dataType for field in whole.fields},
        folders=folders,
        condition=condition,
    )


def _attributes(node: Node, field: str) -> list[Node]:
    return [tree_of(flat) for flat in node.fields[field]]


def _outputs(node: Node) -> list[Node]:
    """Return the output attributes of a node, in order."""
    while node.kind == "Filter":
        node = node.children[0]
    return _attributes(node, "projectList" if node.kind == "Project" else "output")


def _id(node: Node) -> int:
    return int(node.fields["exprId"]["id"])


def _name(names: dict[int, str], node: Node) -> str:
    if node.kind != "AttributeReference" or _id(node) not in names:
        raise NotSimpleError(f"it computes a {node.kind}")
    return names[_id(node)]


def _projected(node: Node, names: dict[int, str]) -> dict[int, str]:
    """Return the files' names of a projection's output attributes."""
    projected = {}
    for item in _attributes(node, "projectList"):
        source = item.children[0] if item.kind == "Alias" else item
        projected[_id(item)] = _name(names, source)
    return projected
