"""Twenty tasks with ten tools, each with an exact check; they were written before the prompts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any, NamedTuple

from tinyagent import Tool, ToolRetry, tool

FILES = {
    "stock.csv": "article,shelf,pieces\nlamp,A,14\nchair,B,3\ndesk,B,9\nvase,A,21\nrug,C,0\n",
    "visitors.txt": "Mon 41\nTue 38\nWed 52\nThu 47\nFri 60\n",
    "readme.txt": "The archive moves to Turku in May.\nAsk Ilmari for the keys.\n",
}
WEATHER = {
    "Turku": {"degrees": 11, "rain": True},
    "Porto": {"degrees": 19, "rain": False},
    "Graz": {"degrees": 14, "rain": True},
    "Nicosia": {"degrees": 27, "rain": False},
}
PRICES = {"lamp": 35.0, "chair": 80.0, "desk": 240.0, "vase": 12.5}
ORDERS = [
    {"id": "K-101", "customer": "Anders", "article": "lamp", "pieces": 2, "status": "open"},
    {"id": "K-102", "customer": "Bea", "article": "desk", "pieces": 1, "status": "shipped"},
    {"id": "K-103", "customer": "Anders", "article": "vase", "pieces": 6, "status": "shipped"},
    {"id": "K-104", "customer": "Carla", "article": "chair", "pieces": 4, "status": "open"},
    {"id": "K-105", "customer": "Bea", "article": "vase", "pieces": 10, "status": "open"},
]
EVENTS = {
    "2026-06-02": ["09:00 dentist", "15:30 budget meeting"],
    "2026-06-03": ["11:00 call with Turku"],
    "2026-06-04": [],
}
NOTES = [
    "The door code of the archive is 7316.",
    "Bea prefers deliveries on Thursdays.",
    "The projector is in room 12.",
]
STAFF = {
    "Ilmari": {"city": "Turku", "manager": "Greta"},
    "Greta": {"city": "Graz", "manager": "Paulo"},
    "Paulo": {"city": "Porto", "manager": ""},
}
FACTORS = {("km", "miles"): 0.621371, ("kg", "pounds"): 2.20462, ("inches", "cm"): 2.54}


@tool
def read_file(name: str) -> str:
    """Read a text file.

    Args:
        name: the file's name, such as stock.csv.
    """
    if name not in FILES:
        raise ToolRetry(f"there is no file {name!r}; there are: {', '.join(FILES)}")
    return FILES[name]


@tool
def list_files() -> list[str]:
    """List the names of the files that read_file can read."""
    return sorted(FILES)


@tool
def get_weather(city: str) -> dict[str, Any]:
    """Look up the weather of a city today.

    Args:
        city: the city's name.

    Returns:
        degrees (Celsius) and rain (true or false).
    """
    if city not in WEATHER:
        raise ToolRetry(f"no weather for {city!r}")
    return WEATHER[city]


@tool
def get_price(article: str) -> float:
    """Look up the price of one piece of an article in euros.

    Args:
        article: the article's name.
    """
    if article not in PRICES:
        raise ToolRetry(f"no article {article!r}; names are lower case and singular")
    return PRICES[article]


@tool
def list_orders(customer: str = "") -> list[dict[str, Any]]:
    """List orders; each has id, customer, article, pieces and status (open or shipped).

    Args:
        customer: only the orders of this customer; empty for all.
    """
    return [order for order in ORDERS if customer in {"", order["customer"]}]


@tool
def convert(value: float, unit: str, to: str) -> float:
    """Convert a value to another unit.

    Args:
        value: the number.
        unit: its unit: km, kg or inches.
        to: the other unit: miles, pounds or cm.
    """
    if (unit, to) not in FACTORS:
        raise ToolRetry(f"cannot convert {unit!r} to {to!r}")
    return round(value * FACTORS[unit, to], 4)


@tool
def calendar(day: str) -> list[str]:
    """List the events of a day.

    Args:
        day: the date, as 2026-06-02.
    """
    return EVENTS.get(day, [])


@tool
def search_notes(word: str) -> list[str]:
    """Find the notes that contain a word.

    Args:
        word: the word to look for.
    """
    return [note for note in NOTES if word.lower() in note.lower()]


@tool
def get_employee(name: str) -> dict[str, str]:
    """Look up an employee: the city of work and the name of the manager.

    Args:
        name: the employee's first name.

    Returns:
        city and manager; manager is empty for the head.
    """
    if name not in STAFF:
        raise ToolRetry(f"no employee {name!r}")
    return STAFF[name]


@tool
def weekday(day: str) -> str:
    """Name the day of the week of a date.

    Args:
        day: the date, as 2026-06-02.
    """
    return f"{date.fromisoformat(day):%A}"


TOOLS: list[Tool] = [
    read_file,
    list_files,
    get_weather,
    get_price,
    list_orders,
    convert,
    calendar,
    search_notes,
    get_employee,
    weekday,
]


class SmallTask(NamedTuple):
    """A task, what its answer's type is, and whether an answer is right."""

    name: str
    task: str
    is_right: Callable[[Any], bool]
    output_type: Any = None


def _number(answer: Any, right: float) -> bool:
    """Whether the right number is the only one, or the last one, of the answer."""
    if isinstance(answer, int | float):
        return abs(answer - right) < 0.01
    numbers = re.findall(r"-?\d[\d,]*(?:\.\d+)?", str(answer))
    return bool(numbers) and abs(float(numbers[-1].replace(",", "")) - right) < 0.01


def _says(*words: str, never: tuple[str, ...] = ()) -> Callable[[Any], bool]:
    def check(answer: Any) -> bool:
        text = str(answer).lower()
        return all(word in text for word in words) and not any(word in text for word in never)

    return check


TASKS = [
    SmallTask("capital", "What is the capital of Japan?", _says("tokyo")),
    SmallTask("arithmetic", "What is 37 * 48 - 129?", lambda answer: _number(answer, 1647)),
    SmallTask("price", "What does one desk cost?", lambda answer: _number(answer, 240)),
    SmallTask(
        "total", "What do 3 lamps and 2 chairs cost together?", lambda answer: _number(answer, 265)
    ),
    SmallTask(
        "warmest",
        "Which of the cities Turku, Porto and Graz is the warmest today?",
        _says("porto", never=("turku is", "graz is")),
    ),
    SmallTask(
        "rain",
        "In which of the cities Turku, Porto, Graz and Nicosia does it rain today?",
        lambda answer: sorted(map(str, answer)) == ["Graz", "Turku"],
        list[str],
    ),
    SmallTask(
        "average",
        "What is the mean of the degrees in Turku, Porto and Nicosia today?",
        lambda answer: _number(answer, 19),
        float,
    ),
    SmallTask("keys", "Whom does the file readme.txt say to ask for the keys?", _says("ilmari")),
    SmallTask(
        "pieces",
        "How many pieces are there in total in the file stock.csv?",
        lambda answer: _number(answer, 47),
    ),
    SmallTask(
        "shelf",
        "Which articles of the file stock.csv are on shelf B?",
        lambda answer: sorted(map(str, answer)) == ["chair", "desk"],
        list[str],
    ),
    SmallTask(
        "busiest",
        "On which day has the file visitors.txt the most visitors, and how many? Answer with the"
        " day as it is written in the file and the number.",
        lambda answer: [str(answer[0]), int(answer[1])] == ["Fri", 60],
        tuple[str, int],
    ),
    SmallTask(
        "files",
        "How many files are there to read?",
        lambda answer: _number(answer, 3) or "three" in str(answer).lower(),
    ),
    SmallTask(
        "open",
        "Which orders are open? Answer with their ids.",
        lambda answer: sorted(map(str, answer)) == ["K-101", "K-104", "K-105"],
        list[str],
    ),
    SmallTask(
        "spent",
        "How much do all the orders of Anders cost together? Each order costs the price of its"
        " article times its pieces.",
        lambda answer: _number(answer, 145),
    ),
    SmallTask(
        "miles", "How many miles are 42 km?", lambda answer: _number(round(_last(answer), 1), 26.1)
    ),
    SmallTask("meeting", "At what time is the budget meeting on 2026-06-02?", _says("15:30")),
    SmallTask("code", "What is the door code of the archive? Search the notes.", _says("7316")),
    SmallTask(
        "boss",
        "In which city does the manager of Ilmari's manager work?",
        _says("porto", never=("turku", "graz")),
    ),
    SmallTask("weekday", "Which day of the week is 2026-06-04?", _says("thursday")),
    SmallTask(
        "reverse", "Write the word archive backwards.", _says("evihcra"),
    ),
]  # fmt: skip


def _last(answer: Any) -> float:
    """The last number of the answer."""
    return float(re.findall(r"\d+(?:\.\d+)?", str(answer))[-1])
