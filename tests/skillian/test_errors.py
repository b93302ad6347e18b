from skillian.errors import (
    ConfigurationError,
    Fault,
    InvalidInputError,
    QueryError,
    SourceNotFoundError,
    ToolError,
    UnavailableError,
    UnknownNameError,
    nearest,
)


def test_an_unknown_source_lists_the_names_nearest_first() -> None:
    error = SourceNotFoundError("fi_report", ["bpc_reporting", "sales", "fi_reporting"])
    assert error.available_sources[0] == "fi_reporting"
    assert error.to_dict() == {
        "error": True,
        "type": "not_found",
        "message": str(error),
        "available_sources": list(error.available_sources),
    }
    assert set(error.available_sources) == {"bpc_reporting", "sales", "fi_reporting"}


def test_other_unknown_names_say_of_what_kind_and_where() -> None:
    error = UnknownNameError("measure", "amout", ["amount", "documents"], "fi_reporting")
    assert str(error) == (
        "there is no measure 'amout' in fi_reporting; measures, nearest first: amount, documents"
    )
    assert error.to_dict()["available_measures"] == ["amount", "documents"]


def test_every_tool_error_has_its_type_on_the_wire() -> None:
    errors: list[ToolError] = [InvalidInputError("a"), QueryError("b"), UnavailableError("c")]
    assert [(error.to_dict()["type"], error.to_dict()["message"]) for error in errors] == [
        ("validation_error", "a"),
        ("query_error", "b"),
        ("runtime_error", "c"),
    ]


def test_a_configuration_error_prints_all_faults_in_file_order() -> None:
    error = ConfigurationError([Fault("s.yaml", 9, "late"), Fault("s.yaml", 2, "early", "fix it")])
    assert str(error) == "s.yaml:2: early; fix it\ns.yaml:9: late"
    assert [fault.line for fault in error.faults] == [2, 9]


def test_nearest_keeps_every_name_and_is_alphabetical_where_nothing_is_near() -> None:
    assert nearest("", ["b", "a"]) == ("a", "b")
    assert nearest("x", []) == ()
