"""How the schemas of two tables differ: columns, types, NULL, order, collation and keys."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from skillian.connectors.base import FRAMES, Declaration, Table
from skillian.data.schema.engines import UNSIZED, LogicalType
from skillian.data.schema.types import LOSSES, TELLING, Relation, logical_type, relation
from skillian.data.sql.values import Record, plain
from skillian.errors import InvalidInputError, UnknownNameError, quoted

Aspect = Literal["column", "type", "nullability", "collation", "order", "primary key"]

_KEYED = frozenset({"duckdb", "postgres", "mysql", "sqlite"})
_EQUIVALENT = Relation("equivalent")


@dataclass(frozen=True, slots=True)
class SchemaColumn(Record):
    """A column of one side; `type` is its declaration in the words of its database."""

    json_names = "column=name type family=logical.family nullable collation"

    name: str
    type: str
    logical: LogicalType
    nullable: bool | None = None
    collation: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaPair(Record):
    """A column of both sides.

    Attributes:
        a: The column of a.
        b: The column of b.
        relation: What becomes of the values of a in the type of b.
        is_guessed: Whether one of the types is only guessed from values.
    """

    json_names = "a b relation=relation.kind losses=relation.losses"

    a: SchemaColumn
    b: SchemaColumn
    relation: Relation
    is_guessed: bool = False

    @property
    def words(self) -> str:
        """The names of the column: one if both sides have the same."""
        same = self.a.name == self.b.name
        return f"column {self.a.name!r}" if same else f"column {self.a.name!r} ({self.b.name!r})"


@dataclass(frozen=True, slots=True)
class SchemaDifference(Record):
    """One difference between two schemas.

    Attributes:
        aspect: What differs.
        column_a: The column of a; None if a has no such column, or the whole table differs.
        column_b: The same for b.
        sentence: The difference in words.
        is_finding: Whether data is missing or does not fit, so that the tables count as different.
        may_fit: Whether it is not a finding if every value of a fits, as with types of two engines.
        is_accepted: Whether the user accepts it, so that it is not a finding of any kind.
    """

    json_names = "aspect column_a column_b finding=counts accepted=is_accepted sentence"

    aspect: Aspect
    column_a: str | None
    column_b: str | None
    sentence: str
    is_finding: bool = False
    may_fit: bool = False
    is_accepted: bool = False

    @property
    def counts(self) -> bool:
        """Whether it is a finding that nobody accepts."""
        return self.is_finding and not self.is_accepted


@dataclass(frozen=True, slots=True)
class SchemaDiff(Record):
    """The schemas of two tables next to each other."""

    source_a: str
    source_b: str
    pairs: tuple[SchemaPair, ...]
    only_in_a: tuple[SchemaColumn, ...]
    only_in_b: tuple[SchemaColumn, ...]
    differences: tuple[SchemaDifference, ...]

    @property
    def findings(self) -> tuple[SchemaDifference, ...]:
        """The differences that count as findings unless the user wants to know of all."""
        return tuple(each for each in self.unaccepted if each.is_finding)

    @property
    def unaccepted(self) -> tuple[SchemaDifference, ...]:
        """All differences but those that the user accepts."""
        return tuple(each for each in self.differences if not each.is_accepted)

    def accepting(self, names: Collection[str]) -> "SchemaDiff":
        """The same differences, those of these columns accepted; `*` are all."""
        folds = {name.casefold() for name in names}
        accepted = tuple(
            replace(each, is_accepted="*" in folds or not folds.isdisjoint(_folds_of(each)))
            for each in self.differences
        )
        return replace(self, differences=accepted)

    def where_values_fit(self, columns: Collection[str]) -> "SchemaDiff":
        """The same differences; the types of these columns of a are known to hold every value."""
        known = tuple(
            replace(each, is_finding=False, sentence=f"{each.sentence}; every value fits")
            if each.may_fit and each.column_a in columns
            else each
            for each in self.differences
        )
        return replace(self, differences=known)

    def with_findings(self, is_kept: Callable[[SchemaDifference], bool]) -> "SchemaDiff":
        """The same differences; a finding stays one only if it is kept."""
        kept = (
            replace(each, is_finding=each.is_finding and is_kept(each)) for each in self.differences
        )
        return replace(self, differences=tuple(kept))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The differences in words, findings first."""
        ordered = sorted(self.differences, key=lambda each: not each.is_finding)
        return tuple(each.sentence for each in ordered)

    def to_dict(self) -> dict[str, object]:
        """The difference for JSON."""
        return {
            "source_a": self.source_a,
            "source_b": self.source_b,
            "columns": plain(self.pairs),
            "only_in_a": plain(self.only_in_a),
            "only_in_b": plain(self.only_in_b),
            "differences": plain(self.differences),
            "findings": len(self.findings),
            "identical": not self.differences,
            "sentences": list(self.sentences),
        }


def compare_schemas(
    a: Table,
    b: Table,
    mapping: Mapping[str, str] | None = None,
    ignore: Collection[str] = (),
    *,
    names: tuple[str, str] = ("a", "b"),
) -> SchemaDiff:
    """Compare the schemas of two tables.

    Args:
        a: The first table.
        b: The second table.
        mapping: Columns of a with another name in b.
        ignore: Names of columns, of either side, that are left out.
        names: What the tables are called in sentences.

    Raises:
        UnknownNameError: A name in `mapping` is not a column.
        QueryError: A table cannot be read.
    """
    ignored = {name.casefold() for name in ignore}
    forbidden = tuple(_forbidden((a, b), ignored, mapping, names))
    ignored |= {name.casefold() for each in forbidden for name in _folds_of(each)}
    columns_a, columns_b = (
        [name for name in table.columns if name.casefold() not in ignored] for table in (a, b)
    )
    paired = pair_columns(columns_a, columns_b, mapping)
    guessed = a.inferred or b.inferred
    pairs = tuple(_pair(a, one, b, other, guessed=guessed) for one, other in paired.items())
    only_in_a = tuple(_column(a, name) for name in columns_a if name not in paired)
    taken = {*paired.values()}
    only_in_b = tuple(_column(b, name) for name in columns_b if name not in taken)
    differences = (
        *forbidden,
        *(_missing(column, names, in_a=True) for column in only_in_a),
        *(_missing(column, names, in_a=False) for column in only_in_b),
        *(each for pair in pairs for each in _of_pair(pair, (a, b), names)),
        *_order(paired, columns_b, names),
        *_primary_key(a, b, paired, names),
    )
    return SchemaDiff(*names, pairs, only_in_a, only_in_b, differences)


def distinct_names(names: Sequence[str]) -> tuple[str, str]:
    """Two names, with their position if they are the same."""
    a, b = names
    return (f"{a} (a)", f"{b} (b)") if a == b else (a, b)


def pair_columns(
    a: Sequence[str], b: Sequence[str], mapping: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Which column of a belongs to which column of b, in the order of a.

    First as `mapping` says, then by the same name, then by a name that differs only in case, unless
    another one does so too.

    Raises:
        UnknownNameError: A name in `mapping` is not a column.
        InvalidInputError: Two columns of a are mapped to the same column of b.
    """
    mapped = {_known(one, a, "a"): _known(other, b, "b") for one, other in (mapping or {}).items()}
    taken = Counter(mapped.values())
    twice = [name for name in b if taken[name] > 1]
    if twice:
        raise InvalidInputError(f"two columns of a are mapped to column {quoted(twice[0])} of b")
    free = dict.fromkeys(name for name in b if name not in taken)
    exact = {name: name for name in a if name not in mapped and name in free}
    rest_a = _by_fold(name for name in a if name not in mapped and name not in exact)
    rest_b = _by_fold(name for name in free if name not in exact)
    alike = {
        ones[0]: rest_b[fold][0]
        for fold, ones in rest_a.items()
        if len(ones) == 1 and len(rest_b.get(fold, ())) == 1
    }
    found = mapped | exact | alike
    return {name: found[name] for name in a if name in found}


def _known(name: str, columns: Sequence[str], side: str) -> str:
    if name in columns:
        return name
    alike = _by_fold(columns).get(name.casefold(), [])
    if len(alike) != 1:
        raise UnknownNameError("column", name, columns, side)
    return alike[0]


def _folds_of(difference: SchemaDifference) -> set[str]:
    names = difference.column_a, difference.column_b
    return {name.casefold() for name in names if name is not None}


def _by_fold(names: Iterable[str]) -> dict[str, list[str]]:
    folds: dict[str, list[str]] = {}
    for name in names:
        folds.setdefault(name.casefold(), []).append(name)
    return folds


def _column(table: Table, name: str) -> SchemaColumn:
    declared = table.declared.get(name, Declaration())
    return SchemaColumn(
        name,
        declared.type or table.columns[name].sql,
        logical_type(table, name),
        declared.nullable,
        declared.collation or None,
    )


def _pair(a: Table, one: str, b: Table, other: str, *, guessed: bool) -> SchemaPair:
    left, right = _column(a, one), _column(b, other)
    how = _guessed(left, right) if guessed else relation(left.logical, right.logical)
    return SchemaPair(left, right, how, guessed)


_NUMBERS = frozenset({"integer", "decimal", "float"})
_READ_AS_TEXT = frozenset({"boolean", *_NUMBERS, "date", "timestamp", "timestamptz"})


def _guessed(a: SchemaColumn, b: SchemaColumn) -> Relation:
    """The relation of types of which one is only guessed from its values."""
    families = {a.logical.family, b.logical.family}
    if len(families) == 1 or families <= _NUMBERS or families <= {"date", "timestamp"}:
        return _EQUIVALENT
    if "text" in families and not families & _READ_AS_TEXT:
        return _EQUIVALENT  # a file has no other type for it
    return Relation("differs")


def _forbidden(
    tables: tuple[Table, Table],
    ignored: Collection[str],
    mapping: Mapping[str, str] | None,
    names: tuple[str, str],
) -> Iterator[SchemaDifference]:
    """Yield the columns that may not be read, so that their types are not known."""
    back = {other: one for one, other in (mapping or {}).items()}
    partners = mapping or {}, back
    for index, table in enumerate(tables):
        for name in table.forbidden:
            if name.casefold() not in ignored:
                other = partners[index].get(name, name)
                reason = table.declared[name].unreadable or "there is no right to read it"
                sentence = f"column {name!r} of {names[index]} cannot be read: {reason}"
                columns = (other, name) if index else (name, other)
                yield SchemaDifference("column", *columns, sentence, is_finding=True)


def _missing(column: SchemaColumn, names: tuple[str, str], *, in_a: bool) -> SchemaDifference:
    where = names[0] if in_a else names[1]
    sentence = f"column {column.name!r} ({column.type}) is only in {where}"
    a, b = (column.name, None) if in_a else (None, column.name)
    return SchemaDifference("column", a, b, sentence, is_finding=True)


def _of_pair(
    pair: SchemaPair, tables: tuple[Table, Table], names: tuple[str, str]
) -> Iterator[SchemaDifference]:
    columns = pair.a.name, pair.b.name
    sentence = _type_sentence(pair, names)
    if sentence:
        is_finding = not pair.is_guessed and _is_type_finding(pair, tables[0].engine)
        may_fit = (
            is_finding
            # The types of a data frame say what it holds, and promise nothing of other values.
            and (tables[0].engine != tables[1].engine or tables[0].engine == FRAMES)
            and pair.relation.kind == "loses"
            and TELLING.issuperset(pair.relation.losses)
        )
        yield SchemaDifference("type", *columns, sentence, is_finding, may_fit)
    nullable = pair.a.nullable, pair.b.nullable
    if None not in nullable and nullable[0] != nullable[1]:
        with_null, without = names if nullable[0] else names[::-1]
        sentence = f"{pair.words} may be NULL in {with_null}, but not in {without}"
        yield SchemaDifference("nullability", *columns, sentence)
    engines = tables[0].engine, tables[1].engine
    if _other_collation(pair, engines):
        sentence = (
            f"{pair.words} has the collation {pair.a.collation} in {names[0]},"
            f" {pair.b.collation} in {names[1]}"
        )
        yield SchemaDifference("collation", *columns, sentence)


def _type_sentence(pair: SchemaPair, names: tuple[str, str]) -> str:
    kind = pair.relation.kind
    if kind == "equivalent":
        return ""
    how = "is read as" if pair.is_guessed else "is"
    types = f"{pair.words} {how} {pair.a.type} in {names[0]}, {pair.b.type} in {names[1]}"
    if kind == "differs":
        return f"{types}: values of different kinds"
    if kind == "widens":
        return f"{types}, which holds all of its values and more"
    losses = " and ".join(LOSSES[loss] for loss in pair.relation.losses)
    return f"{types}, which loses {losses}"


def _is_type_finding(pair: SchemaPair, engine: str) -> bool:
    if pair.relation.kind == "loses":
        unstated = {"range"} if engine == "sqlite" else set[str]()  # any INT holds 64 bits
        if engine in UNSIZED and pair.a.logical.length is None:
            unstated.add("length")
        return not unstated.issuperset(pair.relation.losses)
    return pair.relation.kind == "differs"


def _other_collation(pair: SchemaPair, engines: tuple[str, str]) -> bool:
    a, b = pair.a.collation, pair.b.collation
    if not a or not b:
        return False
    if engines[0] == engines[1]:
        return a != b
    # Their names differ in any case; what matters is whether a = A.
    return _ignores_case(a) != _ignores_case(b)


def _ignores_case(collation: str) -> bool:
    return collation.endswith(("_ci", "(nondeterministic)"))


def _order(
    paired: Mapping[str, str], columns_b: Sequence[str], names: tuple[str, str]
) -> Iterator[SchemaDifference]:
    others = dict.fromkeys(paired.values())
    in_b = [name for name in columns_b if name in others]
    if [*others] != in_b:
        first = next(a for (a, b), other in zip(paired.items(), in_b, strict=True) if b != other)
        sentence = f"the columns of {names[0]} and {names[1]} are in another order, from {first!r}"
        yield SchemaDifference("order", None, None, sentence)


def _primary_key(
    a: Table, b: Table, paired: Mapping[str, str], names: tuple[str, str]
) -> Iterator[SchemaDifference]:
    if not {a.engine, b.engine} <= _KEYED:
        return
    key_a, key_b = a.primary_key, b.primary_key
    if [paired.get(name) for name in key_a] != [*key_b]:
        words = [", ".join(key) or "none" for key in (key_a, key_b)]
        sentence = f"the primary key is {words[0]} in {names[0]}, {words[1]} in {names[1]}"
        yield SchemaDifference("primary key", None, None, sentence)
